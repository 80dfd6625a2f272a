"""Mutation testing: the share of small faults that the tests notice, in the packages that compute results.

    python tools/mutation.py [--seed N] [--count N] [--workers N]

A mutant is the package with one change that an operator of cosmic-ray makes: another number, another comparison, a
``not``. A sample is drawn, each mutant as likely as any other, and for each the tests of the folder that mirrors its
package are run up to the first that fails, those of the file of the same name first. Left out are mutants that Python
refuses to compile or warns of (``is`` beside a literal), and those that differ in annotations alone, which are never
evaluated.

Each worker has its own copy of the package and its tests. Outcomes are recorded as they come: a killed mutant is not
tried again until its module changes, a survivor until its tests change. So an interrupted run continues where it was,
and the report of a seed is written anew at the end.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import hashlib
import json
import math
import multiprocessing
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import tomllib
import warnings
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
PACKAGES = ("models/confgcn", "ops", "confidence", "evaluation")
OUTCOMES = ROOT / "benchmarks" / "results" / "mutants.jsonl"
REPORT = ROOT / "benchmarks" / "results" / "mutation.json"
EQUIVALENTS = Path(__file__).with_name("mutation_equivalents.toml")

# Tests that take longer than all others of their folder together. To leave them out can only lower the rate.
LEFT_OUT = (
    "tests/models/confgcn/test_memory.py",
    "tests/confidence/test_calibration.py::test_a_gain_within_its_noise_is_no_reason_to_choose",
    "tests/confidence/test_decisions.py::test_the_error_is_kept_in_all_but_a_tenth_of_draws",
)
PATIENCE = 5  # times as long as the tests of a folder take undisturbed, before a mutant counts as one that hangs
MOST_MEMORY = 8 * 2**30  # of a mutant, in bytes
NOTHING_TESTED = 5  # pytest's exit code
PRELOADED = ("numpy", "pytest", "scipy.optimize", "scipy.sparse", "scipy.stats", "torch", "torchmetrics")
CONFIDENCE = 1.959964  # normal quantile of a 95 % interval


@dataclass(frozen=True)
class Mutant:
    """One change: the ``occurrence``-th place in a file where an operator applies."""

    file: str
    operator: str
    occurrence: int

    @property
    def package(self) -> str:
        """The folder below ``confgcn`` that it is in."""
        return str(Path(self.file).parent.relative_to("confgcn"))

    def applied(self, source: str) -> str | None:
        """The text of the changed module; None where the change can have no effect, or none that runs."""
        changed: str | None = import_module("cosmic_ray.mutating").mutate_code(
            source, _operator(self.operator), self.occurrence
        )
        return changed if changed is not None and what_runs(changed) not in (None, what_runs(source)) else None


class _WithoutAnnotations(ast.NodeTransformer):
    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.annotation = None
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        return self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        node.annotation = ast.Constant(None)
        return self.generic_visit(node)


def what_runs(source: str) -> str | None:
    """The code of a module without its annotations; None where Python refuses to compile it or warns."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            compile(source, "mutant", "exec")
    except (SyntaxError, SyntaxWarning):
        return None
    return ast.dump(_WithoutAnnotations().visit(ast.parse(source)))


def candidates() -> list[Mutant]:
    """Every place where an operator applies, in the order of the names."""
    trees, plugins = import_module("cosmic_ray.ast"), import_module("cosmic_ray.plugins")
    names = [name for name in plugins.operator_names() if not plugins.get_operator(name).arguments()]
    found = []
    for path in sorted(path for package in PACKAGES for path in (ROOT / "confgcn" / package).glob("*.py")):
        nodes = list(trees.ast_nodes(trees.get_ast(path.read_text())))
        for name in names:
            places = sum(1 for node in nodes for _ in _operator(name).mutation_positions(node))
            found += [Mutant(str(path.relative_to(ROOT)), name, place) for place in range(places)]
    return found


def _operator(name: str) -> Any:
    return import_module("cosmic_ray.plugins").get_operator(name)()


def draw(count: int, seed: int) -> list[Mutant]:
    """A sample of the mutants that can matter, each as likely as any other."""
    order = candidates()
    random.Random(seed).shuffle(order)  # noqa: S311
    chosen: list[Mutant] = []
    for mutant in order:
        if len(chosen) < count and mutant.applied((ROOT / mutant.file).read_text()) is not None:
            chosen.append(mutant)
    return chosen


def mirrored_tests(copy: Path, package: str, first: str, seconds: dict[str, float]) -> list[str]:
    """The test files that mirror a package: that of the same name, then the quick ones before the slow ones."""
    files = [str(path.relative_to(copy)) for path in (copy / "tests" / package).glob("test_*.py")]
    files = [file for file in files if file not in LEFT_OUT]
    return sorted(files, key=lambda file: (Path(file).name != f"test_{first}.py", seconds.get(file, 0.0), file))


class FirstFailure:
    """A plugin of pytest that keeps the name of what failed first."""

    name = ""

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Of a test."""
        self._keep(report)

    def pytest_collectreport(self, report: Any) -> None:
        """Of a file that could not be imported."""
        self._keep(report)

    def _keep(self, report: Any) -> None:
        if report.failed and not self.name:
            self.name = report.nodeid


def run_tests(copy: Path, files: list[str], limit: int, *, keep_bytecode: bool = False) -> tuple[int, str]:
    """Run pytest in a child of this process, which holds the imports: its status and the name of what failed."""
    note = copy / "failed.txt"
    note.write_text("")
    child = os.fork()
    if not child:
        _test(copy, files, limit, note, keep_bytecode)
    _, status = os.waitpid(child, 0)
    return status, note.read_text()


def _test(copy: Path, files: list[str], limit: int, note: Path, keep_bytecode: bool) -> None:
    """The child: it never returns, and the alarm ends it if it hangs."""
    signal.alarm(limit)
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    silence = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(silence, stream)
    os.chdir(copy)
    sys.path.insert(0, str(copy))
    os.environ["PYTHONPATH"] = str(copy)
    sys.dont_write_bytecode = not keep_bytecode
    failure = FirstFailure()
    options = ["-x", "-p", "no:cacheprovider", *(f"--deselect={name}" for name in LEFT_OUT)]
    code = import_module("pytest").main([*options, *files], plugins=[failure])
    package = Path(sys.modules["confgcn"].__file__ or "")
    code = code if package.is_relative_to(copy) else NOTHING_TESTED  # but another package
    note.write_text(failure.name)
    os._exit(int(code))


class Worker:
    """State of a worker process: its copy of the package, and the seconds of each test file."""

    copy: Path
    seconds: dict[str, float]


def begin(original: Path, seconds: dict[str, float]) -> None:
    """In a worker: a copy of its own."""
    Worker.copy = original.with_name(f"worker-{os.getpid()}")
    Worker.seconds = seconds
    shutil.copytree(original, Worker.copy)


def tested(mutant: Mutant) -> dict[str, Any]:
    """In a worker: write the mutant, run the tests, and restore the module."""
    path, began = Worker.copy / mutant.file, time.monotonic()
    source = path.read_text()
    changed, hashes = mutant.applied(source), _hashes(mutant, Worker.copy)
    assert changed is not None
    files = mirrored_tests(Worker.copy, mutant.package, path.stem, Worker.seconds)
    limit = math.ceil(PATIENCE * (5 + sum(Worker.seconds[file] for file in files)))
    path.write_text(changed)
    status, name = run_tests(Worker.copy, files, limit)
    path.write_text(source)
    assert os.waitstatus_to_exitcode(status) != NOTHING_TESTED, mutant
    outcome = "survived" if status == 0 else "hangs" if os.WIFSIGNALED(status) else "killed"
    return {**asdict(mutant), **difference(source, changed), "outcome": outcome, "by": name, **hashes} | {
        "seconds": round(time.monotonic() - began, 1)
    }


def difference(source: str, changed: str) -> dict[str, Any]:
    """Where two texts differ: the number of the line, what stood there, what stands there."""
    old, new = source.splitlines(), changed.splitlines()
    for kind, first, last, start, end in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind != "equal":
            before, after = (" ".join(map(str.strip, lines)) for lines in (old[first:last], new[start:end]))
            return {"line": first + 1, "before": before, "after": after}
    raise ValueError("the texts are equal")


def _hashes(mutant: Mutant, root: Path) -> dict[str, str]:
    tests = [root / "tests" / "conftest.py", *sorted((root / "tests" / mutant.package).glob("*.py"))]
    return {"source": _hash([root / mutant.file]), "tests": _hash(tests)}


def _hash(paths: Iterable[Path]) -> str:
    return hashlib.sha256(b"".join(path.read_bytes() for path in paths)).hexdigest()[:16]


def known_outcomes() -> dict[Mutant, dict[str, Any]]:
    """The recorded outcomes of modules that have not changed since, and of survivors whose tests have not either."""
    found = {}
    lines = OUTCOMES.read_text().splitlines() if OUTCOMES.exists() else []
    for row in map(json.loads, lines):
        mutant = Mutant(row["file"], row["operator"], row["occurrence"])
        hashes = _hashes(mutant, ROOT) if (ROOT / mutant.file).exists() else {}
        if row["source"] == hashes.get("source") and (row["outcome"] != "survived" or row["tests"] == hashes["tests"]):
            found[mutant] = row
    return found


def prepare(folder: Path) -> dict[str, float]:
    """The original of all copies, and the seconds that each test file takes undisturbed; all of them must pass."""
    shutil.copytree(ROOT / "confgcn", folder / "confgcn", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "tests", folder / "tests", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    seconds = {}
    for file in (file for package in PACKAGES for file in mirrored_tests(folder, package, "", {})):
        began = time.monotonic()
        status, name = run_tests(folder, [file], 600, keep_bytecode=True)
        if status:
            raise SystemExit(f"{file} fails without any mutant: {name or status}")
        seconds[file] = time.monotonic() - began
    print(f"the tests take {sum(seconds.values()):.0f} s", flush=True)
    for package in PACKAGES:  # or a mutant of the same size within a second would not be seen
        shutil.rmtree(folder / "confgcn" / package / "__pycache__")
    return seconds


def run(mutants: list[Mutant], workers: int) -> Iterator[dict[str, Any]]:
    """The outcomes, as they come."""
    for name in PRELOADED:
        import_module(name)
    with tempfile.TemporaryDirectory(prefix="mutation-") as folder:
        original = Path(folder) / "original"
        arguments = original, prepare(original)
        fork = multiprocessing.get_context("fork")
        with ProcessPoolExecutor(workers, mp_context=fork, initializer=begin, initargs=arguments) as pool:
            futures: list[Future[dict[str, Any]]] = [pool.submit(tested, mutant) for mutant in mutants]
            for future in as_completed(futures):
                yield future.result()


def wilson(killed: int, count: int) -> tuple[float, float]:
    """The interval of Wilson (JASA 1927) of a share, at 95 %."""
    z, share = CONFIDENCE, killed / count
    middle, width = share + z**2 / (2 * count), z * math.sqrt(share * (1 - share) / count + (z / (2 * count)) ** 2)
    return (middle - width) / (1 + z**2 / count), (middle + width) / (1 + z**2 / count)


def equivalents() -> dict[tuple[str, str, str], str]:
    """Why a change of a line makes no difference to anyone: (file, before, after) -> the reason."""
    rows = tomllib.loads(EQUIVALENTS.read_text()).get("equivalent", []) if EQUIVALENTS.exists() else []
    return {(row["file"], row["before"], after): row["reason"] for row in rows for after in row["after"]}


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The rate over all and by package, and the survivors; those that are equivalent count as survivors too."""
    reasons = equivalents()
    survivors = [row for row in rows if row["outcome"] == "survived"]
    shown = ("file", "line", "operator", "before", "after")
    listed = [
        {key: row[key] for key in shown} | {"equivalent": reasons.get((row["file"], row["before"], row["after"]))}
        for row in sorted(survivors, key=lambda row: (row["file"], row["line"], row["after"]))
    ]
    return {
        **_rate(rows),
        "hanging": sum(row["outcome"] == "hangs" for row in rows),
        "equivalent": sum(row["equivalent"] is not None for row in listed),
        "date": datetime.now(UTC).date().isoformat(),
        "packages": {name: _rate([row for row in rows if f"/{name}/" in row["file"]]) for name in PACKAGES},
        "survivors": listed,
    }


def _rate(rows: list[dict[str, Any]]) -> dict[str, Any]:
    if not rows:
        return {"count": 0, "killed": 0}
    killed = sum(row["outcome"] != "survived" for row in rows)
    low, high = wilson(killed, len(rows))
    return {"count": len(rows), "killed": killed, "rate": killed / len(rows), "low": low, "high": high}


def write_report(seed: int, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Put the summary of this seed beside those of others."""
    found = summary(rows)
    report: dict[str, Any] = json.loads(REPORT.read_text()) if REPORT.exists() else {"candidates": 0, "seeds": {}}
    report["candidates"] = len(candidates())
    report["seeds"] = dict(sorted({**report["seeds"], str(seed): found}.items(), key=lambda item: int(item[0])))
    REPORT.write_text(json.dumps(report, indent=1, ensure_ascii=False) + "\n")
    return found


def main() -> None:
    """Draw, run what is not known, write the report."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seed", type=int, default=0, help="of the sample")
    parser.add_argument("--count", type=int, default=400, help="mutants in the sample")
    parser.add_argument("--workers", type=int, default=2, help="processes")
    given = parser.parse_args()
    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
    os.nice(5)
    sample = draw(given.count, given.seed)
    known = known_outcomes()
    left = [mutant for mutant in sample if mutant not in known]
    print(f"{len(sample)} mutants, of which {len(sample) - len(left)} are known", flush=True)
    with OUTCOMES.open("a") as file:
        for number, row in enumerate(run(left, given.workers) if left else (), 1):
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
            file.flush()
            known[Mutant(row["file"], row["operator"], row["occurrence"])] = row
            print(
                f"{number}/{len(left)} {row['outcome']:8} {row['seconds']:6.1f} s  {row['file']}:{row['line']}",
                flush=True,
            )
    found = write_report(given.seed, [known[mutant] for mutant in sample])
    print(
        f"killed {found['killed']} of {found['count']}: {found['rate']:.1%} ({found['low']:.1%} to {found['high']:.1%})"
    )


if __name__ == "__main__":
    main()
