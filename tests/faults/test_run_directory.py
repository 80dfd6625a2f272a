"""Every file of a run directory, truncated or with a byte flipped: harmless, or refused by its name."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import torch

from confgcn import RunRequest, load_run, train
from confgcn.data.synthetic import block_model
from confgcn.exceptions import CorruptFileError
from confgcn.training.callbacks import Callback
from confgcn.training.checkpoint import Checkpointer
from confgcn.training.loop import TrainingLoop

if TYPE_CHECKING:
    from tests.faults.conftest import Outside

pytestmark = pytest.mark.fault("S07", "S08")

WRITTEN_BY_TRAINING = {
    *("config.json", "environment.json", "graph.npz", "history.jsonl", "metrics.json", "predictions.csv"),
    *("model.json", "model.safetensors", "held_out.json", "held_out.safetensors"),
    *("label_errors.csv", "disagreeing_edges.csv", "SHA256SUMS"),
}
TIMED = {"metrics.json", "SHA256SUMS"}  # they hold the seconds it took
GRAPH = block_model(120, seed=1)
WITHOUT_VALIDATION = replace(GRAPH, validation=torch.empty(0, dtype=torch.long), name="mine")


class StopAfter(Callback):
    """Ends the training of the last loop, as a killed process would."""

    def __init__(self, epochs: int) -> None:
        self.epochs = epochs

    def on_epoch(self, loop: TrainingLoop) -> None:
        if len(loop.history) == self.epochs:
            raise KeyboardInterrupt


def trained(out: Path) -> list[str]:
    return _trained(RunRequest(WITHOUT_VALIDATION, overrides={"epochs": 3}, out=out))


def trained_by_epochs(out: Path, *callbacks: Callback) -> list[str]:
    """Train the model that is saved after every epoch; a search saves the candidates that it has trained."""
    return _trained(RunRequest(GRAPH, preset="consensus", overrides={"epochs": 8}, out=out), *callbacks)


def _trained(request: RunRequest, *callbacks: Callback) -> list[str]:
    notices: list[str] = []
    if_exists = "resume" if Path(request.out).exists() else "refuse"
    train(replace(request, if_exists=if_exists), notify=notices.append, callbacks=callbacks)
    return notices


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = tmp_path_factory.mktemp("finished") / "run"
    trained(run)
    return run


@pytest.fixture
def run(finished: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(finished, tmp_path / "run"))


@pytest.fixture
def unfinished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stopped after five of eight epochs, with checkpoints of the last two."""
    monkeypatch.setitem(Checkpointer.__init__.__kwdefaults__, "seconds_between", 0.0)
    with pytest.raises(KeyboardInterrupt):
        trained_by_epochs(tmp_path / "run", StopAfter(6))
    return tmp_path / "run"


def flip(content: bytes, position: int) -> bytes:
    altered = bytearray(content)
    altered[position] ^= 0x10
    return bytes(altered)


def damages(content: bytes) -> list[bytes]:
    """Truncated at 0, 1, 50 and 99 percent, and with a byte flipped at the ends and in between."""
    lengths = {0, 1, len(content) // 2, len(content) * 99 // 100}
    places = {0, len(content) - 1, *random.Random(len(content)).choices(range(len(content)), k=4)}  # noqa: S311
    return [content[:length] for length in sorted(lengths)] + [flip(content, place) for place in sorted(places)]


def files_of(run: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in run.iterdir() if path.is_file() and path.name != "run.lock"}


def test_the_list_of_files_is_complete(run: Path) -> None:
    assert set(files_of(run)) == WRITTEN_BY_TRAINING


@pytest.mark.parametrize("name", sorted(WRITTEN_BY_TRAINING))
def test_a_damaged_file_of_a_finished_run_is_refused_by_name(run: Path, name: str) -> None:
    whole = (run / name).read_bytes()
    for content in damages(whole):
        (run / name).write_bytes(content)
        with pytest.raises(CorruptFileError, match=rf"{name}: corrupt"):
            load_run(run)
    (run / name).unlink()
    with pytest.raises((CorruptFileError, OSError), match=name if name != "metrics.json" else "no finished run"):
        load_run(run)
    (run / name).write_bytes(whole)
    assert load_run(run).probabilities.isfinite().all()


@pytest.mark.parametrize("name", ["evaluation.json", "report.html", "new_nodes.csv", "reliability.svg", "run.lock"])
def test_damage_to_files_that_are_never_read_again_is_harmless(run: Path, name: str) -> None:
    (run / name).write_bytes(b"\x00\xff" * 10)
    assert load_run(run).probabilities.isfinite().all()


@pytest.mark.parametrize(
    "words",
    [("report",), ("evaluate",), ("predict", "--out", "x.csv"), ("explain", "0")],
    ids=lambda words: words[0],
)
@pytest.mark.parametrize("name", ["model.safetensors", "predictions.csv"])
def test_every_command_that_reads_a_run_refuses_a_damaged_one(
    outside: Outside, finished: Path, words: tuple[str, ...], name: str
) -> None:
    run = shutil.copytree(finished, outside.folder / "run")
    (run / name).write_bytes(flip((run / name).read_bytes(), 100))
    command, *rest = words
    outside.refuses(command, "run", *rest, code=3, naming=[name, "checksum", "--resume"])


@pytest.mark.parametrize("name", sorted(WRITTEN_BY_TRAINING - {"config.json", "environment.json"}))
def test_resuming_repairs_a_damaged_finished_run(finished: Path, run: Path, name: str) -> None:
    before = files_of(finished)
    (run / name).write_bytes(before[name][:-1])
    notices = trained(run)
    assert any(name in notice and "trained again" in notice for notice in notices)
    after = files_of(run)
    assert {file for file in WRITTEN_BY_TRAINING if before[file] != after[file]} <= TIMED
    load_run(run)


@pytest.mark.parametrize("name", ["config.json", "environment.json"])
def test_a_run_with_damaged_settings_is_not_resumed(run: Path, name: str) -> None:
    before = files_of(run)
    for content in damages(before[name]):
        (run / name).write_bytes(content)
        with pytest.raises(CorruptFileError, match=rf"{name}: corrupt"):
            trained(run)
        assert files_of(run) == {**before, name: content}


@pytest.mark.parametrize("file", ["json", "safetensors"])
@pytest.mark.parametrize(
    "damage",
    [*(lambda content, share=share: content[: int(share * len(content))] for share in (0, 0.01, 0.5, 0.99)), None],
    ids=["0 %", "1 %", "50 %", "99 %", "a byte"],
)
def test_a_damaged_checkpoint_is_skipped_for_the_one_before(
    unfinished: Path, tmp_path: Path, file: str, damage: Callable[[bytes], bytes] | None
) -> None:
    newest = sorted(unfinished.glob(f"checkpoints/*.{file}"))[-1]
    content = newest.read_bytes()
    newest.write_bytes(flip(content, len(content) // 2) if damage is None else damage(content))
    notices = trained_by_epochs(unfinished)
    assert any("damaged checkpoint" in notice and newest.stem in notice for notice in notices)
    trained_by_epochs(tmp_path / "undisturbed")
    after, undisturbed = files_of(unfinished), files_of(tmp_path / "undisturbed")
    assert {name for name in undisturbed if after[name] != undisturbed[name]} <= TIMED


def test_a_run_without_an_intact_checkpoint_is_left_unchanged(unfinished: Path) -> None:
    for checkpoint in unfinished.glob("checkpoints/*.safetensors"):
        checkpoint.write_bytes(checkpoint.read_bytes()[:-1])
    before = {**files_of(unfinished), **files_of(unfinished / "checkpoints")}
    with pytest.raises(CorruptFileError, match=r"no checkpoint is intact .*epoch-0000005.*--overwrite"):
        trained_by_epochs(unfinished)
    assert {**files_of(unfinished), **files_of(unfinished / "checkpoints")} == before


def test_a_damaged_copy_of_the_graph_of_an_unfinished_run_is_written_again(unfinished: Path, tmp_path: Path) -> None:
    trained_by_epochs(tmp_path / "undisturbed")
    (unfinished / "graph.npz").write_bytes(b"damaged")
    trained_by_epochs(unfinished)
    assert (unfinished / "graph.npz").read_bytes() == (tmp_path / "undisturbed" / "graph.npz").read_bytes()
