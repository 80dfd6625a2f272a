"""Archives, links and runs from elsewhere: no file outside is changed, and files of other versions are refused."""

from __future__ import annotations

import io
import json
import os
import shutil
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from confgcn.data.formats.npz import MARKER
from confgcn.io.checksums import SUMS, digest, write_checksums
from confgcn.io.json_files import CHECKSUM_KEY, to_json
from confgcn.io.tensor_files import read_tensors, write_tensors

if TYPE_CHECKING:
    from tests.faults.conftest import Outside

BEGUN = ("train", "mygraph", "--validation", 0.3, "--epochs", 5, "--out")
HALF = ("train", "mygraph", "--preset", "consensus", *BEGUN[2:], "half")  # saved after every epoch
DYING = """
from confgcn.training.loop import TrainingLoop
import os
run_epoch = TrainingLoop.run_epoch
TrainingLoop.run_epoch = lambda loop: os._exit(9) if len(loop.history) == 4 else run_epoch(loop)
"""


@pytest.fixture(scope="module")
def runs(outside_before: Outside) -> Path:
    """A finished run, and one whose process died after four epochs."""
    outside_before.write_graph()
    outside_before.accepts(*BEGUN, "run")
    dying = outside_before.start(*HALF, before=outside_before.saving_always + DYING)
    assert dying.wait().code == 9
    (outside_before.folder / "half" / "run.lock").write_text("")  # which names the dead process
    return outside_before.folder


@pytest.fixture
def beside(runs: Path, outside: Outside) -> Outside:
    """A folder of its own with copies of the graph and the runs."""
    shutil.copytree(runs, outside.folder, dirs_exist_ok=True)
    return outside


def reseal(path: Path, **changes: Any) -> None:
    """The JSON file with these changes, as a version that writes them would have it."""
    content = {**json.loads(path.read_text(encoding="utf-8")), **changes}
    content.pop(CHECKSUM_KEY)
    path.write_bytes(to_json({**content, CHECKSUM_KEY: digest(to_json(content))}))


def list_checksums(run: Path) -> None:
    listed = [line.split("  ")[1] for line in (run / SUMS).read_text().splitlines() if not line.startswith("#")]
    write_checksums(run, [run / name for name in listed], not_yet_written={})


def tar_of_links() -> bytes:
    stream = io.BytesIO()
    kinds = {"ln": tarfile.SYMTYPE, "hl": tarfile.LNKTYPE, "dev": tarfile.CHRTYPE}
    with tarfile.open(fileobj=stream, mode="w:gz") as archive:
        for name in ("../escaped", "/escaped", *kinds):
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname = kinds.get(name, tarfile.REGTYPE), "../escaped"
            archive.addfile(entry)
    return stream.getvalue()


def zip_of_paths() -> bytes:
    array, stream = io.BytesIO(), io.BytesIO()
    np.save(array, np.ones((24, 2)))
    with zipfile.ZipFile(stream, "w") as archive:
        for name in ("../escaped.npy", "/escaped.npy", "..\\escaped.npy"):
            archive.writestr(name, array.getvalue())
        link = zipfile.ZipInfo("link.npy")
        link.external_attr = 0o120777 << 16
        archive.writestr(link, "../escaped")
    return stream.getvalue()


@pytest.mark.fault("S05")
@pytest.mark.parametrize(
    ("name", "make", "code"),
    [
        *((name, tar_of_links, 3) for name in ("x.tar.gz", "x.npz", "x.graphml.gz")),
        ("x.npz", zip_of_paths, 6),
        ("x.zip", zip_of_paths, 3),
    ],
)
def test_an_archive_is_never_unpacked(outside: Outside, name: str, make: Callable[[], bytes], code: int) -> None:
    outside.write(f"inner/{name}", make())
    before = set(outside.folder.parent.glob("*"))
    outside.refuses("inspect", f"inner/{name}", code=code, naming=[name])
    assert set(outside.folder.parent.glob("*")) == before
    assert not list(Path("/").glob("escaped*"))


@pytest.mark.fault("S05")
@pytest.mark.parametrize("make_link", [os.symlink, os.link])
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("run.lock", ("report", "run")),
        ("report.html", ("report", "run")),
        ("report.html.tmp", ("report", "run")),
        ("new_nodes.csv.tmp", ("predict", "run", "--edges", "mygraph/edges.csv")),
        ("predictions.csv", (*BEGUN, "run", "--overwrite")),
    ],
)
def test_nothing_is_written_through_a_link_in_a_run(
    beside: Outside, make_link: Callable[[Path, Path], None], name: str, words: tuple[Any, ...]
) -> None:
    precious = beside.write("precious.txt", "precious")
    (beside.folder / "run" / name).unlink(missing_ok=True)
    make_link(precious, beside.folder / "run" / name)
    assert beside.run(*words).code in (0, 4)
    assert precious.read_text() == "precious"


@pytest.mark.fault("S05")
@pytest.mark.parametrize("how", ["--resume", "--overwrite"])
@pytest.mark.parametrize(("name", "file"), [("checkpoints", "epoch-0000001"), ("search", "candidate-00")])
def test_nothing_is_removed_through_a_link_in_a_run(beside: Outside, name: str, file: str, how: str) -> None:
    beside.write(f"precious/{file}.json", "precious")
    beside.write("precious/letter.tmp", "precious")
    (beside.folder / "run" / name).symlink_to(beside.folder / "precious")
    beside.refuses(*BEGUN, "run", how, code=4, naming=[f"run/{name}: a link", "remove it"])


@pytest.mark.fault("S05")
def test_a_link_is_not_accepted_as_the_run_of_a_seed(beside: Outside) -> None:
    (beside.folder / "precious").mkdir()
    beside.accepts(*BEGUN, "study", "--seeds", 2)
    shutil.rmtree(beside.folder / "study" / "seed-1")
    (beside.folder / "study" / "metrics.json").unlink()
    (beside.folder / "study" / "seed-1").symlink_to(beside.folder / "precious")
    words = (*BEGUN, "study", "--seeds", 2, "--resume")
    beside.refuses(*words, code=4, naming=["study/seed-1: a link", "remove it"])


@pytest.mark.fault("S06")
@pytest.mark.parametrize("name", ["$(mkdir canary)", "; mkdir canary ;", "{0.__class__}%s%n", "-rf", "a b'\"\\"])
def test_a_file_name_is_never_a_command(beside: Outside, name: str) -> None:
    (beside.folder / "mygraph").rename(beside.folder / name)
    beside.accepts("inspect", f"./{name}", "--validation", 0.3)
    (beside.folder / "run").rename(beside.folder / f"run {name}")
    beside.accepts("report", f"run {name}", "--out", f"./{name}.html")
    assert not list(beside.folder.rglob("canary"))
    assert (beside.folder / f"{name}.html").is_file()


@pytest.mark.fault("S09")
@pytest.mark.parametrize("schema", [0, 2])
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("model.json", ("report", "run")),
        ("config.json", (*BEGUN, "run", "--resume")),
        ("environment.json", (*BEGUN, "run", "--resume")),
    ],
)
def test_a_run_of_another_version_is_refused_with_both_versions(
    beside: Outside, name: str, words: tuple[Any, ...], schema: int
) -> None:
    reseal(beside.folder / "run" / name, schema=schema)
    list_checksums(beside.folder / "run")
    naming = [f"{name}: schema {schema}, this version of confgcn reads 1", "use the version that wrote it"]
    beside.refuses(*words, code=3, naming=naming)


@pytest.mark.fault("S09")
def test_a_run_directory_of_another_layout_is_refused_with_both_versions(beside: Outside) -> None:
    reseal(beside.folder / "half" / "config.json", confgcn_run=9)
    naming = ["half/config.json: a run of layout 9, this version of confgcn reads layout 2"]
    beside.refuses(*HALF, "--resume", code=3, naming=naming)


@pytest.mark.fault("S09")
@pytest.mark.parametrize("version", [0, 2])
def test_a_graph_archive_of_another_version_is_refused_with_both_versions(beside: Outside, version: int) -> None:
    with np.load(beside.folder / "run" / "graph.npz") as arrays:
        np.savez(beside.folder / "other.npz", **{**arrays, MARKER: np.array(version)})
    naming = [f"other.npz: graph archive of version {version}, this program reads version 1"]
    beside.refuses("inspect", "other.npz", code=3, naming=naming)


@pytest.mark.fault("S09")
@pytest.mark.parametrize("schema", [0, 2])
def test_checkpoints_of_another_version_are_refused_with_both_versions(beside: Outside, schema: int) -> None:
    for checkpoint in (beside.folder / "half" / "checkpoints").glob("*.json"):
        reseal(checkpoint, schema=schema)
    naming = ["no checkpoint is intact", f"schema {schema}", "this version of confgcn reads 1", "--overwrite"]
    beside.refuses(*HALF, "--resume", code=3, naming=naming)


@pytest.mark.fault("S09")
def test_a_model_of_a_method_that_is_not_known_is_refused(beside: Outside) -> None:
    model = beside.folder / "run" / "model.json"
    config = json.loads(model.read_text())["config"]
    reseal(model, config={**config, "method": "confgcn2"})
    list_checksums(beside.folder / "run")
    naming = ["model.json: describes no method of this version", "'confgcn2'", "did you mean 'confgcn'"]
    beside.refuses("predict", "run", "--out", "x.csv", code=3, naming=naming)


@pytest.mark.fault("S11")
@pytest.mark.parametrize("part", ["random", "optimiser/"])
@pytest.mark.parametrize("is_listed", [True, False], ids=["listed", "not listed"])
def test_an_incomplete_checkpoint_is_not_resumed_from(beside: Outside, part: str, is_listed: bool) -> None:
    for file in (beside.folder / "half" / "checkpoints").glob("*.json"):
        tensors, record = read_tensors(file.with_suffix(""))
        kept = {name: tensor for name, tensor in tensors.items() if not name.startswith(part)}
        assert len(kept) < len(tensors)
        write_tensors(file.with_suffix(""), kept, record if is_listed else {**record, "tensors": sorted(kept)})
    naming = ["half/checkpoints: no checkpoint is intact", "epoch-000000", part, "start again with --overwrite"]
    beside.refuses(*HALF, "--resume", code=3, naming=naming)


@pytest.mark.fault("S11")
def test_a_finished_run_predicts_without_any_checkpoint(beside: Outside) -> None:
    run = beside.folder / "run"
    assert not (run / "checkpoints").exists()
    beside.accepts("predict", "run", "--out", "again.csv")
    assert (beside.folder / "again.csv").read_bytes() == (run / "predictions.csv").read_bytes()


@pytest.mark.real_data
@pytest.mark.fault("S18")
@pytest.mark.parametrize("part", ["allx", "graph", "ally", "test.index"])
def test_an_altered_benchmark_file_is_not_used_under_its_name(outside: Outside, data_dir: Path, part: str) -> None:
    folder = shutil.copytree(data_dir / "Cora" / "raw", outside.folder / "data" / "Cora" / "raw")
    file = folder / f"ind.cora.{part}"
    content = bytearray(file.read_bytes())
    place = len(content) // 2
    content[place] ^= 1
    file.write_bytes(content)
    words = ("train", "cora", "--epochs", 1, "--out", "run")
    for how in ({}, {"environment": {"CONFGCN_DATA": str(outside.folder / "data")}}):
        given = () if how else ("--data-dir", "data")
        outside.refuses(*words, *given, code=3, naming=[file.name], **how)


@pytest.mark.real_data
@pytest.mark.fault("S18")
def test_another_graph_under_the_name_of_a_benchmark_is_refused(outside: Outside, data_dir: Path) -> None:
    folder = outside.folder / "data" / "Cora" / "raw"
    folder.mkdir(parents=True)
    for file in (data_dir / "CiteSeer" / "raw").iterdir():
        shutil.copy(file, folder / file.name.replace("citeseer", "cora"))
    naming = ["SHA-256 is", "this is not the published file"]
    outside.refuses("inspect", "cora", "--data-dir", "data", code=3, naming=naming)
