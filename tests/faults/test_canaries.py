"""Files that would execute something, were they loaded as Python objects, in every place that takes a file.

Each of them makes a folder called ``canary`` when it is unpickled. The commands run in this process, where seven
contents in fifty places take seconds; one content in every third place is tried from outside too.
"""

from __future__ import annotations

import contextlib
import io
import pickle
import shutil
import struct
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch
import typer.main

from confgcn import ConfGCNClassifier, RunRequest, train
from confgcn.cli.main import app
from confgcn.data.formats.planetoid import SUFFIXES
from confgcn.data.formats.registry import read_graph
from confgcn.distributed.shard_files import DENSE, IN_EVERY_SHARD, MANIFEST, NAMES, SPARSE
from confgcn.exceptions import ConfGCNError
from confgcn.io.checksums import SUMS, file_digest, write_checksums
from confgcn.io.json_files import read_checksummed_json, write_checksummed_json
from confgcn.io.tensor_files import read_tensors, write_tensors
from confgcn.runs.stored_graph import make_shards
from confgcn.training.callbacks import Callback
from confgcn.training.checkpoint import Checkpointer
from confgcn.training.loop import TrainingLoop
from confgcn.training.saved_state import NODES

if TYPE_CHECKING:
    from tests.faults.conftest import Outside

COMMANDS = typer.main.get_command(app)  # made once: it takes longer than most refusals
KINDS = ("pickle0", "pickle2", "pickle4", "pickle5", "torch", "npy", "npz")
UNREAD = {  # by the command that explains a node
    *("predictions.csv", "label_errors.csv", "disagreeing_edges.csv", "config.json", "environment.json"),
    *("history.jsonl", "metrics.json"),
}
TABLES = ("--edges", "mygraph/edges.csv", "--nodes", "mygraph/nodes.csv")
LAST = ("--set", "select=last", "--set", "stop=never")

# The file that is replaced, and the command that reads it.
GRAPH_PLACES: list[tuple[str, tuple[Any, ...]]] = [
    *((name, ("inspect", "--edges", name, *TABLES[2:])) for name in ("e.csv", "e.tsv", "e.parquet", "e.csv.gz")),
    ("n.csv", ("train", *TABLES[:2], "--nodes", "n.csv", "--out", "new")),
    ("n.parquet", ("convert", *TABLES[:2], "--nodes", "n.parquet", "--out", "new.npz")),
    *((name, ("inspect", *TABLES, "--features", name)) for name in ("f.npy", "f.npz")),
    *((f"x.{suffix}", ("inspect", f"./x.{suffix}")) for suffix in ("npz", "npy", "graphml", "csv", "parquet", "pt")),
    *((f"mygraph/{name}", ("inspect", "mygraph")) for name in ("edges.csv", "nodes.csv", "features.npz")),
    *((f"small/ind.small.{part}", ("inspect", "small")) for part in SUFFIXES),
    *((f"Cora/ind.cora.{part}", ("inspect", "cora", "--data-dir", ".")) for part in ("x", "graph", "test.index")),
    ("cora_ml/cora_ml.npz", ("inspect", "cora_ml", "--data-dir", ".")),
    *((f"shards/{name}", ("inspect", "shards")) for name in (MANIFEST, NAMES, "columns.npy")),
    *((f"shards/shard-0001/{name}.npy", ("inspect", "shards")) for name in (*IN_EVERY_SHARD, *DENSE)),
    *((f"sparse/shard-0001/{name}.npy", ("inspect", "sparse")) for name in SPARSE),
]
SETTINGS_PLACES: list[tuple[str, tuple[Any, ...]]] = [
    ("o.toml", ("train", "mygraph", "--config", "o.toml", "--out", "new")),
    ("o.toml", ("train", "mygraph", "--settings", "o.toml", "--out", "new")),
    ("o.toml", ("tune", "mygraph", "--space", "o.toml", "--study", "new.db")),
    ("s.db", ("tune", "mygraph", "--validation", 0.3, "--space", "space.toml", "--study", "s.db")),
    ("results/settings.json", ("reproduce", "table2", "--out", "results", "--render-only")),
    ("results/results.csv", ("reproduce", "table2", "--out", "results", "--render-only")),
]
NEW_PLACES: list[tuple[str, tuple[Any, ...]]] = [
    ("z.csv", ("predict", "run", "--edges", "z.csv")),
    ("z.csv", ("predict", "run", *TABLES[:2], "--nodes", "z.csv")),
    ("z.npy", ("predict", "run", *TABLES, "--features", "z.npy")),
    ("z.npz", ("predict", "run", "--graph", "z.npz")),
    ("z.graphml", ("predict", "run", "--graph", "z.graphml")),
]
PLACES = [*GRAPH_PLACES, *SETTINGS_PLACES, *NEW_PLACES]
NOT_AS_ARRAYS = ("x.npy", "cora_ml/cora_ml.npz")  # a graph is no lone array, and a missing array is reported first
CITATION = [f"{matrix}_{part}" for matrix in ("adj", "attr") for part in ("data", "indices", "indptr", "shape")]


class Python2Pickler(pickle._Pickler):
    """Writes bytes as Python 2 did, as a string without a global."""

    def save_bytes(self, raw: bytes) -> None:
        self.write(pickle.BINSTRING + struct.pack("<i", len(raw)) + raw)
        self.memoize(raw)

    dispatch = {**pickle._Pickler.dispatch, bytes: save_bytes}  # noqa: RUF012


class StopAt(Callback):
    """Ends the training after three epochs, as a killed process would."""

    def on_epoch(self, loop: TrainingLoop) -> None:
        if len(loop.history) == 3:
            raise KeyboardInterrupt


@pytest.fixture(scope="module")
def canaries(script: Callable[[str], ModuleType]) -> dict[str, bytes]:
    found: dict[str, bytes] = script("tools/fuzzing/canaries.py").canaries()
    return found


@pytest.fixture(scope="module")
def valid(outside_before: Outside) -> Path:
    """One valid file for every place: a graph, planetoid files, a finished and an unfinished run, results."""
    folder = outside_before.folder
    outside_before.write_graph()
    outside_before.write("space.toml", "hidden_dim = [4]\nepochs = [1]")
    write_planetoid(folder / "small")
    for name in ("x", "y", "tx", "ty", "allx", "ally", "graph", "test.index"):
        outside_before.write(f"Cora/ind.cora.{name}", (folder / "small" / f"ind.small.{name}").read_bytes())
    make_shards(folder / "shards", read_graph(folder / "mygraph").build(), 2, how="hash")
    make_shards(folder / "sparse", read_graph(folder / "mygraph").build(("identity",)), 2, how="hash")
    results = Path(__file__).parents[2] / "reproduction" / "results"
    outside_before.write("results/run.lock", "")
    for name in ("results.csv", "settings.json", "table1.json", "table2.json"):
        outside_before.write(f"results/{name}", (results / name).read_bytes())
    with contextlib.chdir(folder):
        ConfGCNClassifier(settings={"epochs": 2}).fit(read_graph(Path("mygraph")).build()).save("run")
        overrides = {"epochs": 5, "select": "last", "stop": "never"}
        request = RunRequest(Path("mygraph"), overrides=overrides, out="half")
        with pytest.raises(KeyboardInterrupt), saving_always():
            train(request, notify=lambda _: None, callbacks=[StopAt()])
    return folder


@contextlib.contextmanager
def saving_always() -> Iterator[None]:
    defaults = Checkpointer.__init__.__kwdefaults__
    before, defaults["seconds_between"] = defaults["seconds_between"], 0.0
    try:
        yield
    finally:
        defaults["seconds_between"] = before


def write_planetoid(folder: Path) -> None:
    """Nine papers: 0 to 4, and the test nodes 5 to 8."""
    folder.mkdir()
    features = sp.csr_matrix(np.eye(9, 3, dtype=np.float32))
    labels = np.eye(2, dtype=np.int32)[np.arange(9) % 2]
    rows = {"x": slice(0, 2), "tx": slice(5, 9), "allx": slice(0, 5)}
    parts: dict[str, Any] = {name: features[part] for name, part in rows.items()}
    parts |= {f"{name[:-1]}y": labels[part] for name, part in rows.items()}
    parts["graph"] = {node: [(node + 1) % 9] for node in range(9)}
    for name, part in parts.items():
        with (folder / f"ind.small.{name}").open("wb") as stream:
            Python2Pickler(stream, protocol=2).dump(part)
    (folder / "ind.small.test.index").write_text("5\n6\n7\n8\n")


@pytest.fixture
def place(valid: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(valid, tmp_path / "place"))


def ended(place: Path, *words: Any) -> tuple[int, str]:
    """The exit code and the message of a command in this folder, and the canary still asleep."""
    code, message = 0, ""
    with contextlib.chdir(place):
        try:
            COMMANDS([str(word) for word in words], standalone_mode=False)
        except ConfGCNError as error:
            code, message = error.exit_code, str(error)
    assert not list(place.rglob("canary"))
    return code, message


def contents_of(folder: Path) -> dict[Path, bytes]:
    return {file: file.read_bytes() if file.is_file() else b"" for file in folder.rglob("*")}


def put(place: Path, file: str, content: bytes) -> None:
    (place / file).parent.mkdir(exist_ok=True)
    (place / file).write_bytes(content)


@pytest.mark.fault("S01", "S02", "S03")
def test_the_canaries_run_where_files_are_loaded_as_objects(canaries: dict[str, bytes], tmp_path: Path) -> None:
    assert tuple(canaries) == KINDS
    for kind, content in canaries.items():
        stream = io.BytesIO(content)
        with contextlib.chdir(tmp_path):
            if kind == "torch":
                torch.load(stream, weights_only=False)
            elif kind in ("npy", "npz"):
                loaded = np.load(stream, allow_pickle=True)
                _ = loaded if kind == "npy" else loaded["features"]
            else:
                pickle.loads(content)  # noqa: S301
        (tmp_path / "canary").rmdir()


def codes(file: str, kind: str) -> tuple[int, ...]:
    """A pickle where pickles are read and objects where arrays are read are refused as what they are."""
    is_pickle = kind.startswith("pickle") and "/ind." in file and not file.endswith(".index")
    is_array = file.endswith(f".{kind}") and file not in NOT_AS_ARRAYS
    return (6,) if is_pickle or is_array else (2, 3, 4, 6)


@pytest.mark.fault("S01", "S02", "S03", "N07")
@pytest.mark.parametrize(("file", "words"), PLACES, ids=lambda value: value if isinstance(value, str) else "")
def test_no_input_file_runs_code(place: Path, canaries: dict[str, bytes], file: str, words: tuple[Any, ...]) -> None:
    for kind, content in canaries.items():
        put(place, file, content)
        code, message = ended(place, *words)
        assert code in codes(file, kind), (kind, code, message)
        assert Path(file).name in message


@pytest.mark.fault("S01", "S02", "S03", "N07")
@pytest.mark.parametrize("number", range(0, len(PLACES), 3), ids=lambda number: PLACES[number][0])
def test_the_command_names_the_refused_file(
    outside: Outside, valid: Path, canaries: dict[str, bytes], number: int
) -> None:
    file, words = PLACES[number]
    shutil.copytree(valid, outside.folder, dirs_exist_ok=True)
    kind = KINDS[number % len(KINDS)]
    put(outside.folder, file, canaries[kind])
    before = contents_of(outside.folder)
    finished = outside.run(*words)
    assert finished.code in codes(file, kind), finished.errors
    assert Path(file).name in finished.errors
    assert contents_of(outside.folder) == before


@pytest.mark.fault("S01")
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.startswith("pickle")])
@pytest.mark.parametrize("part", [part for part in SUFFIXES if part != "test.index"])
def test_the_error_names_the_refused_global_of_a_planetoid_file(
    outside: Outside, valid: Path, canaries: dict[str, bytes], part: str, kind: str
) -> None:
    shutil.copytree(valid / "small", outside.folder / "small")
    put(outside.folder, f"small/ind.small.{part}", canaries[kind])
    outside.refuses("inspect", "small", code=6, naming=[f"ind.small.{part}", "refused the global", "mkdir"])


@pytest.mark.fault("S03")
@pytest.mark.parametrize("name", ["f.npy", "f.npz"])
def test_an_array_of_objects_is_refused_as_unsafe(
    outside: Outside, valid: Path, canaries: dict[str, bytes], name: str
) -> None:
    shutil.copytree(valid / "mygraph", outside.folder / "mygraph")
    put(outside.folder, name, canaries[name[2:]])
    outside.refuses("inspect", *TABLES, "--features", name, code=6, naming=[name, "object array"])


@pytest.mark.fault("S03")
@pytest.mark.parametrize("name", [*CITATION, "labels"])
def test_each_array_of_a_citation_graph_is_refused_where_it_holds_objects(
    outside: Outside, canaries: dict[str, bytes], name: str
) -> None:
    eye = sp.csr_matrix(np.eye(4, dtype=np.float32))
    parts = {entry: np.asarray(getattr(eye, entry.split("_")[1])) for entry in CITATION} | {"labels": np.arange(4) % 2}
    del parts[name]
    np.savez(outside.folder / "x.npz", **parts)
    with zipfile.ZipFile(outside.folder / "x.npz", "a") as archive:
        archive.writestr(f"{name}.npy", canaries["npy"])
    outside.refuses("inspect", "./x.npz", code=6, naming=["x.npz", name, "object array"])


@pytest.mark.fault("S03")
def test_an_entry_that_is_not_needed_is_never_read(place: Path, canaries: dict[str, bytes]) -> None:
    arrays = {"features": np.ones((24, 2)), "ids": np.array([f"n{node}" for node in range(24)])}
    np.savez(place / "f.npz", **arrays)
    with zipfile.ZipFile(place / "f.npz", "a") as archive:
        archive.writestr("notes.npy", canaries["npy"])
    assert ended(place, "inspect", *TABLES, "--features", "f.npz") == (0, "")


def files_of_a_run(valid: Path) -> list[str]:
    return sorted(file.name for file in (valid / "run").iterdir() if file.is_file())


@pytest.mark.fault("S02")
@pytest.mark.parametrize("forged", [False, True], ids=["found", "forged"])
def test_no_file_of_a_run_runs_code(place: Path, valid: Path, canaries: dict[str, bytes], forged: bool) -> None:
    """Even where the file was written with valid checksums."""
    known = [name for name in files_of_a_run(valid) if name not in (SUMS, "run.lock", "estimator.json")]
    for name in known if forged else [*known, SUMS]:
        for content in canaries.values():
            put(place, f"run/{name}", content)
            if forged:
                write_checksums(place / "run", [place / "run" / each for each in known], not_yet_written={})
            code, message = ended(place, "explain", "run", "n1")
            assert code in ((0,) if forged and name in UNREAD else (3, 6)), (name, message)
            assert code == 0 or name in message
        shutil.copy(valid / "run" / name, place / "run" / name)


@pytest.mark.fault("S02")
@pytest.mark.parametrize("kind", ["pickle0", "torch"])
def test_a_saved_estimator_and_a_lock_run_no_code(place: Path, canaries: dict[str, bytes], kind: str) -> None:
    put(place, "run/run.lock", canaries[kind])
    assert ended(place, "report", "run", "--out", "page.html") == (0, "")
    put(place, "run/estimator.json", canaries[kind])
    with contextlib.chdir(place), pytest.raises(ConfGCNError, match=r"estimator\.json: is a pickle"):
        ConfGCNClassifier.load("run")
    assert not list(place.rglob("canary"))


@pytest.mark.fault("S02")
@pytest.mark.parametrize("words", [("evaluate",), ("explain", "n1"), ("predict", "--out", "x.csv"), ("report",)])
def test_every_command_refuses_a_model_that_is_a_pickle(
    outside: Outside, valid: Path, canaries: dict[str, bytes], words: tuple[str, ...]
) -> None:
    shutil.copytree(valid / "run", outside.folder / "run")
    put(outside.folder, "run/model.safetensors", canaries["torch"])
    command, *rest = words
    outside.refuses(command, "run", *rest, code=6, naming=["model.safetensors: is a pickle", "remove it"])


@pytest.mark.fault("S02")
def test_a_checkpoint_that_is_a_pickle_is_refused_and_one_of_objects_is_skipped_by_name(
    place: Path, canaries: dict[str, bytes], capsys: pytest.CaptureFixture[str]
) -> None:
    names = sorted(file.name for file in (place / "half" / "checkpoints").iterdir())
    resumed = ("train", "mygraph", "--epochs", 5, *LAST, "--out", "run2", "--resume")
    for number, (kind, content) in enumerate(canaries.items()):
        shutil.rmtree(place / "run2", ignore_errors=True)
        shutil.copytree(place / "half", place / "run2")
        put(place, f"run2/checkpoints/{names[-1 - number % 2]}", content)
        put(place, "run2/checkpoints/epoch-0000009.pt", content)  # which is never read
        code, message = ended(place, *resumed)
        if kind in ("npy", "npz"):
            assert (code, message) == (0, "")
            assert f"skipped a damaged checkpoint, {Path(names[-1]).stem}" in capsys.readouterr().err
        else:
            assert code == 6
            assert f"{names[-1 - number % 2]}: is a pickle" in message


def written_in_two(stem: Path) -> list[str]:
    """The checkpoint as two processes would have written it; returns the names of its files."""
    tensors, record = read_tensors(stem)
    for part in range(2):
        nodes = torch.arange(part, record["num_nodes"], 2)
        own = {name: value[nodes] if name in record["per_node"] else value for name, value in tensors.items()}
        write_tensors(stem.with_name(f"{stem.name}-worker-{part}"), {**own, NODES: nodes}, record)
    stem.with_suffix(".safetensors").unlink()
    write_checksummed_json(stem.with_suffix(".json"), {"written_by": 2})
    return sorted(file.name for file in stem.parent.glob(f"{stem.name}*"))


@pytest.mark.fault("S02")
def test_no_checkpoint_file_of_several_workers_runs_code(
    place: Path, canaries: dict[str, bytes], capsys: pytest.CaptureFixture[str]
) -> None:
    newest = max((place / "half" / "checkpoints").glob("*.json")).with_suffix("")
    names = written_in_two(newest)
    assert len(names) == 5
    resumed = ("train", "mygraph", "--epochs", 5, *LAST, "--out", "run2", "--resume")
    for name in names:
        for kind in ("pickle2", "torch", "npy"):
            shutil.rmtree(place / "run2", ignore_errors=True)
            shutil.copytree(place / "half", place / "run2")
            put(place, f"run2/checkpoints/{name}", canaries[kind])
            code, message = ended(place, *resumed)
            assert (code, message == "") == ((0, True) if kind == "npy" else (6, False)), (name, kind, message)
            assert name in (capsys.readouterr().err if kind == "npy" else message)


@pytest.mark.fault("S02", "S03")
def test_no_shard_file_with_a_valid_checksum_runs_code(place: Path, canaries: dict[str, bytes]) -> None:
    valid = read_checksummed_json(place / "shards" / MANIFEST)
    for name in valid["files"]:
        before = (place / "shards" / name).read_bytes()
        for kind, content in canaries.items():
            put(place, f"shards/{name}", content)
            forged = {**valid["files"], name: file_digest(place / "shards" / name)}
            write_checksummed_json(place / "shards" / MANIFEST, {**valid, "files": forged})
            code, message = ended(place, "inspect", "shards")
            assert code in ((6,) if kind == "npy" and name.endswith(".npy") else (3, 6)), (name, kind, message)
            assert Path(name).name in message
        put(place, f"shards/{name}", before)


@pytest.mark.fault("S02")
def test_a_run_whose_checkpoints_are_all_pickles_is_left_unchanged(
    outside: Outside, valid: Path, canaries: dict[str, bytes]
) -> None:
    shutil.copytree(valid / "mygraph", outside.folder / "mygraph")
    shutil.copytree(valid / "half", outside.folder / "half")
    for file in (outside.folder / "half" / "checkpoints").glob("*.safetensors"):
        file.write_bytes(canaries["torch"])
    words = ("train", "mygraph", "--epochs", 5, *LAST, "--out", "half", "--resume")
    before = contents_of(outside.folder)
    ended = outside.run(*words)
    assert ended.code == 6
    assert "epoch-0000002.safetensors: is a pickle" in ended.errors
    assert contents_of(outside.folder) == before
    assert not list(outside.folder.rglob("canary"))
