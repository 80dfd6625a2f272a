"""The soak: disturbed rounds give the files of undisturbed ones, and a difference is reported."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any

import pytest

from confgcn.runs.settings import resolve

TOOLS = Path(__file__).parents[2] / "tools"


@pytest.fixture
def soak(script: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(TOOLS)
    return script("tools/soak.py")


class Early(Random):
    """Signals come while a command still runs, even if this time it is quicker."""

    def uniform(self, a: float, b: float) -> float:
        return super().uniform(a, b) / 4


@pytest.fixture
def quick(soak: ModuleType, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Every plan is a training of a few epochs and a table."""
    from soaking import plans

    plan = plans.Plan(
        ("train", "graph", "--label", "team", "--validation", "0.3", "--epochs", "8", "--out", "run"),
        Path("run"),
        (
            (
                "predict",
                "run",
                "--edges",
                "new_edges.csv",
                "--nodes",
                "new_nodes.csv",
                "--out",
                "predicted.csv",
                "--overwrite",
            ),
        ),
        0.0,
    )
    monkeypatch.setattr(soak, "draw", lambda _: plan)
    monkeypatch.setattr(soak, "Random", Early)
    return soak


def words(folder: Path, *more: str) -> list[str]:
    return ["--rounds", "1", "--out", str(folder / "soak.jsonl"), "--keep", str(folder / "kept"), *more]


def records(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "soak.jsonl").read_text().splitlines()]


def test_a_disturbed_round_gives_the_files_of_an_undisturbed_one(
    quick: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert quick.main(words(tmp_path)) == 0
    (record,) = records(tmp_path)
    assert record["equal"] is True
    assert record["differences"] == record["faults"] == []
    assert record["commands"][0].startswith("train graph")
    assert sum(record["kills"].values()) > 0
    assert (record["round"], record["seed"]) == (0, 0)
    printed = capsys.readouterr()
    assert "0 rounds with a difference" in printed.out
    assert "equal" in printed.err
    assert not (tmp_path / "kept").exists()


@pytest.mark.parametrize("name", ["run/predictions.csv", "run/metrics.json", "predicted.csv", "run/left.tmp"])
def test_one_byte_more_is_noticed_and_kept(
    quick: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    from soaking import rounds

    def carry_out(plan: Any, command: tuple[str, ...], home: Path, outcome: Any) -> float:
        made = home / ("predicted.csv" if command != plan.train else "run/predictions.csv")
        for file in (made, home / "run" / "metrics.json"):
            file.parent.mkdir(exist_ok=True)
            file.write_bytes(b"the same")
        if command != plan.train and "disturbed" in home.parts:
            with (home / name).open("ab") as stream:
                stream.write(b" and more")
        return 0.0

    monkeypatch.setattr(rounds, "carry_out", carry_out)
    monkeypatch.setattr(rounds, "disturb", lambda *_: None)
    assert quick.main(words(tmp_path)) == 1
    (record,) = records(tmp_path)
    assert record["equal"] is False
    assert record["differences"] == [name]
    (kept,) = (tmp_path / "kept").iterdir()
    assert (kept / "disturbed" / "home" / name).is_file()


def test_seconds_alone_are_no_difference(soak: ModuleType, tmp_path: Path) -> None:
    from soaking.comparison import differences

    for name, seconds, mark in (("one", "1.25", "a"), ("other", "3e-05", "b")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "metrics.json").write_text(f'{{"epochs": 3, "seconds": {seconds}, "runs": []}}')
        sums = f"{'c' * 64}  config.json\n{mark * 64}  metrics.json\n# sha256 of the lines above: {mark}\n"
        (tmp_path / name / "SHA256SUMS").write_text(sums)
    assert differences(tmp_path / "one", tmp_path / "other") == []
    (tmp_path / "one" / "metrics.json").write_text('{"epochs": 4, "seconds": 1.25, "runs": []}')
    (tmp_path / "one" / "SHA256SUMS").write_text(f"{'d' * 64}  config.json\n")
    assert differences(tmp_path / "one", tmp_path / "other") == ["SHA256SUMS", "metrics.json"]


@pytest.mark.parametrize(
    ("code", "printed", "is_fault"),
    [(0, "", False), (143, "", False), (-15, "", False), (1, "", True), (130, "", True), (0, "Traceback (most", True)],
)
def test_how_a_command_may_end(soak: ModuleType, code: int, printed: str, is_fault: bool) -> None:
    from soaking.commands import Ended
    from soaking.rounds import Outcome

    outcome = Outcome()
    outcome.check(["train"], Ended(code, 1.0, printed), {0, 128 + signal.SIGTERM, -signal.SIGTERM})
    assert outcome.equal is not is_fault


def test_plans_are_of_many_kinds_and_can_be_asked_for(soak: ModuleType) -> None:
    from soaking.plans import METHODS, draw

    drawn = [draw(Random(f"0/{number}")) for number in range(400)]  # noqa: S311
    asked = {
        (plan.train[plan.train.index("--method") + 1], plan.train[plan.train.index("--preset") + 1]) for plan in drawn
    }
    assert asked == set(METHODS)
    for method, preset in METHODS:
        resolve(method, preset, "", {"epochs": 5})
    assert {plan.train[1] for plan in drawn} == {"demo", "graph"}
    assert {"--validation" in plan.train for plan in drawn} == {True, False}
    assert {str(plan.run) == "run" for plan in drawn} == {True, False}
    assert draw(Random("0/7")) == drawn[7]  # noqa: S311


def test_no_round_is_no_success(soak: ModuleType) -> None:
    assert soak.main(["--minutes", "0"]) == 1
