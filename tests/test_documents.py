"""README and docs say what the result files say, and no number in them is typed by hand."""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from reproduction import confidence, figure1, figure2, figure3, figure4, overview, table1, table2
from reproduction.artefacts import ARTEFACTS
from reproduction.folder import read_report
from reproduction.jobs import Job, Kind
from reproduction.render import PARTS
from reproduction.results import FILES, Results
from reproduction.scope import Scope
from reproduction.verdict import UNKNOWN

ROOT = Path(__file__).parents[1]
REPRODUCTION = ROOT / "reproduction" / "results"
FROM_RUNS = [name for name, artefact in ARTEFACTS.items() if not artefact.is_examination]
PROSE = [*PARTS, "page", "render", "words", "verdict"]  # modules of confgcn.report that write text
NAMES = r"Tables? [12]|Figures? [1-4]|Q[1-4]|(table|figure)[1-4]|1 / sum"  # what may hold a digit and is no number
README_NAMES = rf"{NAMES}|AISTATS 2019|Python 3\.11|Apache-2\.0"


@pytest.fixture(scope="module")
def report(script: Callable[[str], ModuleType]) -> Iterator[ModuleType]:
    folder = str(ROOT / "benchmarks")
    sys.path.insert(0, folder)
    try:
        yield script("benchmarks/report.py")
    finally:
        sys.path.remove(folder)


@pytest.fixture(scope="module")
def tables() -> dict[Kind, Results]:
    return {kind: Results(REPRODUCTION, kind) for kind in FILES}


@pytest.fixture(scope="module")
def results(tables: dict[Kind, Results]) -> Results:
    return tables["paper"]


def test_the_page_of_results_is_what_the_result_files_give(report: ModuleType) -> None:
    assert (ROOT / "docs" / "results.md").read_text() == report.results_page()


def test_the_blocks_of_every_document_are_what_the_result_files_give(report: ModuleType) -> None:
    blocks = report.recorded_blocks()
    for path in report.WITH_BLOCKS:
        assert report.filled(path.read_text(), blocks) == path.read_text(), path.name


def test_every_block_stands_in_a_document_that_is_filled(report: ModuleType) -> None:
    others = set((ROOT / "docs").glob("*.md")) - set(report.WITH_BLOCKS)
    assert not [path.name for path in others if "<!-- end -->" in path.read_text()]


@pytest.mark.parametrize("name", FROM_RUNS)
def test_the_numbers_of_a_figure_are_what_the_runs_give(tables: dict[Kind, Results], name: str) -> None:
    results = tables[ARTEFACTS[name].kind]
    recomputed = ARTEFACTS[name].numbers(Scope(), results)
    assert json.loads(results.file(name).read_text()) == json.loads(json.dumps(recomputed))


@pytest.mark.real_data
def test_the_counts_of_table_1_are_those_of_the_graphs(results: Results, data_dir: Path) -> None:
    recomputed = table1.numbers(Scope(data_dir=data_dir), results)
    assert json.loads(results.file("table1").read_text()) == json.loads(json.dumps(recomputed))


def test_figure_1_looked_at_models_of_the_settings_of_today(results: Results) -> None:
    found = json.loads(results.file("figure1").read_text())
    keys = {figure1.look_key(Scope(), "demo", seed) for seed in range(Scope().seeds)}
    assert keys == found["looks"].keys()
    assert len(found["datasets"]["demo"]["counts"]) == len(figure1.PRESETS) * Scope().seeds


def test_every_claim_is_judged() -> None:
    report = read_report(REPRODUCTION)
    verdicts = [verdict for name, part in PARTS.items() for verdict in part.verdicts(report[name])]
    assert [verdict.claim for verdict in verdicts if verdict.finding == UNKNOWN or not verdict.text] == []


@pytest.mark.parametrize(
    "module",
    [table2, figure2, figure3, figure4, overview, confidence],
    ids=lambda module: module.__name__.rpartition(".")[2],
)
def test_every_run_that_is_asked_for_is_there(tables: dict[Kind, Results], module: Any) -> None:
    jobs = module.jobs(Scope(seeds=10))
    missing = [job for job in jobs if job.seed not in tables[job.kind].runs(job.dataset, job.variant)]
    assert list(map(str, missing)) == []


def test_no_run_of_confidences_is_of_settings_that_nobody_asks_for(tables: dict[Kind, Results]) -> None:
    asked = {job.settings_key for job in confidence.jobs(Scope(seeds=10))}
    assert {record.settings for record in tables["confidence"].records.values()} <= asked


def test_results_were_made_with_the_settings_of_today(results: Results) -> None:
    jobs = [Job(dataset, variant, 0) for dataset in table2.DATASETS for variant in table2.VARIANTS]
    for job in jobs:
        recorded, today = results.meanings[job.settings_key], job.variant.settings(job.dataset).as_dict()
        for section in ("data", "model", "recipe"):
            shared = recorded[section].keys() & today[section].keys()
            assert {k: recorded[section][k] for k in shared} == {k: today[section][k] for k in shared}, str(job)


def test_readme_has_no_number_outside_what_is_generated() -> None:
    text = (ROOT / "README.md").read_text()
    for generated in (r"<!-- (?!end).*?<!-- end -->", r"```.*?```", r"`[^`]*`", r"\]\([^)]*\)"):
        text = re.sub(generated, "", text, flags=re.S)
    assert re.findall(r".*\d.*", re.sub(README_NAMES, "", text)) == []


@pytest.mark.parametrize("name", PROSE)
def test_the_text_around_numbers_holds_none(name: str) -> None:
    source = ast.parse((ROOT / "confgcn" / "reporting" / f"{name}.py").read_text())
    typed = [text for text in _strings(source) if re.search(r"\d", re.sub(NAMES, "", text))]
    assert typed == []


def _strings(source: ast.Module) -> Iterator[str]:
    """String constants that are shown: neither docstrings nor formats."""
    hidden = {id(part) for node in ast.walk(source) if isinstance(node, ast.FormattedValue) for part in _format(node)}
    for node in ast.walk(source):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and isinstance(body[0], ast.Expr):
            hidden.add(id(body[0].value))
    for node in ast.walk(source):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in hidden:
            yield node.value


def _format(node: ast.FormattedValue) -> list[ast.AST]:
    return [] if node.format_spec is None else list(ast.walk(node.format_spec))
