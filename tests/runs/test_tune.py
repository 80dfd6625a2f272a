"""The search: it looks at validation alone, tries a whole grid once, and goes on where it stopped."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from confgcn.data.formats.registry import read_graph, write_graph
from confgcn.data.raw import raw_from_graph
from confgcn.exceptions import ConfGCNError, DataError, ResourceError, UsageError
from confgcn.graph import Graph
from confgcn.runs import graph_input
from confgcn.runs import tune as tuning
from confgcn.runs.graph_input import GraphFiles
from confgcn.runs.request import RunRequest
from confgcn.runs.stored_graph import Shares
from confgcn.runs.tune import read_ranges, search, validation_accuracy

optuna = pytest.importorskip("optuna")

REQUEST = RunRequest(graph="demo", method="gcn", preset="reference", seeds=1)


def test_a_grid_is_tried_once_and_its_best_returned(tmp_path: Path) -> None:
    (tmp_path / "space.toml").write_text("epochs = [1, 4]\nhidden_dim = [4]")
    seen: list[str] = []
    where = {"space": tmp_path / "space.toml", "storage": tmp_path / "study.db", "notify": seen.append}
    found = search(REQUEST, trials=10, **where)
    assert len(seen) == 2
    scores = {
        epochs: validation_accuracy(
            RunRequest(graph="demo", method="gcn", preset="reference", overrides={"epochs": epochs, "hidden_dim": 4})
        )
        for epochs in (1, 4)
    }
    assert found["validation_accuracy"] == pytest.approx(max(scores.values()))
    assert found["settings"]["epochs"] == max(scores, key=lambda epochs: scores[epochs])
    assert search(REQUEST, trials=10, **where) == found
    assert len(seen) == 2


def test_ranges_are_drawn_within_bounds(tmp_path: Path) -> None:
    (tmp_path / "space.toml").write_text("dropout = { low = 0.1, high = 0.2, log = false }\nepochs = [1]")
    found = search(
        REQUEST, space=tmp_path / "space.toml", storage=tmp_path / "study.db", trials=2, notify=lambda _: None
    )
    assert 0.1 <= found["settings"]["dropout"] <= 0.2


def test_a_resumed_search_does_not_repeat_itself(tmp_path: Path) -> None:
    (tmp_path / "space.toml").write_text("dropout = { low = 0.1, high = 0.9, log = false }\nepochs = [1]")
    where = {"space": tmp_path / "space.toml", "storage": tmp_path / "study.db", "notify": lambda _: None}
    for trials in (2, 4):
        search(REQUEST, trials=trials, **where)
    storage = f"sqlite:///{tmp_path / 'study.db'}"
    (name,) = optuna.get_all_study_names(storage)
    tried = [trial.params["dropout"] for trial in optuna.load_study(study_name=name, storage=storage).trials]
    assert len(tried) == len(set(tried)) == 4


def test_a_study_in_a_missing_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "space.toml").write_text("epochs = [1]")
    with pytest.raises(ResourceError, match="absent"):
        search(REQUEST, space=tmp_path / "space.toml", storage=tmp_path / "absent" / "s.db", trials=1, notify=print)


@pytest.mark.parametrize(
    ("space", "message"),
    [
        ("dropout = { from = 0.1 }", "range of dropout"),
        ("dropout = { low = 0.5, high = 0.1, log = false }", "range of dropout"),
        ("dropout = { low = 0.0, high = 0.1, log = true }", "range of dropout"),
        ('dropout = { low = "a", high = "b", log = true }', "range of dropout"),
        ("dropout = []", "range of dropout"),
        ("dropout = { low = 0.5, high = 3.0, log = false }", "dropout = 3.0"),
        ("dropout = [0.5, 1.5]", "dropout = 1.5"),
        ("dropuot = [0.5]", "did you mean 'dropout'"),
        ("", "no setting"),
    ],
)
def test_a_space_that_cannot_be_searched_is_refused_before_anything_is_written(
    tmp_path: Path, space: str, message: str
) -> None:
    (tmp_path / "space.toml").write_text(space)
    with pytest.raises(UsageError, match=message):
        search(REQUEST, space=tmp_path / "space.toml", storage=tmp_path / "s.db", trials=1, notify=print)
    assert [path.name for path in tmp_path.iterdir()] == ["space.toml"]


def test_learned_influence_cannot_be_tuned_and_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    (tmp_path / "space.toml").write_text('influence = ["uniform", "learned"]\nepochs = [1]')
    with pytest.raises(UsageError, match=r"space\.toml: influence = 'learned'.*one model is trained"):
        search(RunRequest("demo"), space=tmp_path / "space.toml", storage=tmp_path / "s.db", trials=1, notify=print)
    assert [path.name for path in tmp_path.iterdir()] == ["space.toml"]


def test_whole_ends_give_whole_numbers_and_odd_names_one_file(tmp_path: Path) -> None:
    (tmp_path / "space.toml").write_text("hidden_dim = { low = 4, high = 8, log = false }\nepochs = [1]")
    storage = tmp_path / "a?b c.db"
    found = search(REQUEST, space=tmp_path / "space.toml", storage=storage, trials=1, notify=lambda _: None)
    assert isinstance(found["settings"]["hidden_dim"], int)
    assert {path.name for path in tmp_path.iterdir()} == {"space.toml", "a?b c.db"}


def test_a_file_that_is_no_study_is_an_error_of_the_environment(tmp_path: Path) -> None:
    (tmp_path / "space.toml").write_text("epochs = [1]")
    (tmp_path / "notes.txt").write_text("not a database, but long enough to look at" * 20)
    with pytest.raises(ResourceError, match=r"notes\.txt cannot be used"):
        search(REQUEST, space=tmp_path / "space.toml", storage=tmp_path / "notes.txt", trials=1, notify=print)


def test_a_diverging_run_counts_as_zero() -> None:
    request = RunRequest(
        graph="demo", preset="released", overrides={"learning_rate": 1e6, "doubled_l2": 1e6, "epochs": 3}
    )
    assert validation_accuracy(request) == 0.0


def test_files_are_read_once_and_must_leave_something_to_compare_by(
    tmp_path: Path, small_graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    raw = replace(raw_from_graph(small_graph), split=None)
    write_graph(raw, tmp_path / "g")
    (tmp_path / "space.toml").write_text("epochs = [1, 2]")
    reads: list[Path] = []
    monkeypatch.setattr(
        graph_input, "read_graph", lambda path, *a, **k: reads.append(path) or read_graph(path, *a, **k)
    )
    where = {"space": tmp_path / "space.toml", "trials": 2, "notify": lambda _: None}
    files = GraphFiles(tmp_path / "g", shares=Shares(validation=0.3))
    found = search(RunRequest(files, method="gcn", seeds=2), storage=tmp_path / "a.db", **where)
    assert found["trials"] == 2
    assert len(reads) == 1
    with pytest.raises(DataError, match="--validation"):
        search(RunRequest(GraphFiles(tmp_path / "g"), method="gcn"), storage=tmp_path / "b.db", **where)


def test_an_error_of_a_training_is_not_taken_for_one_of_the_study(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> float:
        raise ValueError("a bug")

    monkeypatch.setattr(tuning, "validation_accuracy", fail)
    (tmp_path / "space.toml").write_text("epochs = [1]")
    with pytest.raises(ValueError, match=r"^a bug$") as raised:
        search(REQUEST, space=tmp_path / "space.toml", storage=tmp_path / "study.db", trials=1, notify=print)
    assert not isinstance(raised.value, ConfGCNError)


@pytest.mark.parametrize(
    ("space", "problem"),
    [
        ("", "the space names no setting to search"),
        ("epochs = 3", "range of epochs: expected a list of choices"),
        ("epochs = [0]", "epochs = 0"),
        ("eppochs = [1]", "unknown setting 'eppochs': did you mean 'epochs'"),
        ("epochs = [", "not a TOML file"),
    ],
)
def test_what_is_wrong_in_a_space_is_said_with_its_file(tmp_path: Path, space: str, problem: str) -> None:
    (tmp_path / "space.toml").write_text(space)
    with pytest.raises(UsageError, match=rf"/space\.toml: .*{problem}"):
        read_ranges(REQUEST, tmp_path / "space.toml")


def test_a_request_that_cannot_be_used_has_nothing_to_do_with_the_space(tmp_path: Path) -> None:
    (tmp_path / "space.toml").write_text("epochs = [1]")
    with pytest.raises(UsageError, match="unknown preset of gcn 'none'") as raised:
        read_ranges(replace(REQUEST, preset="none"), tmp_path / "space.toml")
    assert "space.toml" not in str(raised.value)


def test_a_database_that_holds_nonsense_is_named(tmp_path: Path) -> None:
    (tmp_path / "space.toml").write_text("epochs = [1]\nhidden_dim = [4]")
    where = {"space": tmp_path / "space.toml", "storage": tmp_path / "study.db", "notify": lambda _: None}
    search(REQUEST, trials=1, **where)
    with closing(sqlite3.connect(tmp_path / "study.db")) as database:
        database.execute("UPDATE trials SET datetime_start = 'yesterday'")
        database.execute("UPDATE trial_params SET distribution_json = '{'")
        database.commit()
    with pytest.raises(ResourceError, match=r"the study /.*/study\.db cannot be used: "):
        search(REQUEST, trials=2, **where)
