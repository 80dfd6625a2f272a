"""A small reproduction that is stopped, fails and is restarted: every run is done and recorded once."""

from __future__ import annotations

import shutil
import signal
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from confgcn.exceptions import CorruptFileError, StoppedError, UsageError
from confgcn.graph import Graph
from confgcn.io.json_files import read_json
from confgcn.io.locks import locked_folder
from confgcn.io.signals import StopRequest
from reproduction import jobs, table2
from reproduction import reproduce as reproduction
from reproduction.artefacts import Artefact
from reproduction.folder import read_report, render
from reproduction.jobs import Job, Kind, Scope, Variant, graph_key
from reproduction.measurements import Measurements
from reproduction.reproduce import Observer, ReproductionRequest, reproduce
from reproduction.results import Results
from reproduction.tasks import Diverged, Failure, Outcome, Task, perform

FEAT = Variant("Feat", "feat").changed("Feat", epochs=3)
LP = Variant("LP", "label_propagation")
SAME_AS_LP = Variant("LP again", "label_propagation", "reference")
DIVERGES = Variant("Kipf-GCN", "gcn").changed("Kipf-GCN", learning_rate=1e6, num_layers=8)
NOWHERE = Path("/nowhere")
RUNS = 6  # of three different variants with two seeds


@dataclass
class Recorder(Observer):
    """Records every call, and requests a stop after ``stop_after`` runs."""

    stop_after: int = 0
    plan: tuple[int, int] | None = None
    outcomes: list[tuple[Job, Outcome]] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)

    def on_notice(self, text: str) -> None:
        self.notices.append(text)

    def on_plan(self, total: int, finished: int) -> None:
        self.plan = total, finished

    def on_run(self, job: Job, outcome: Outcome) -> None:
        self.outcomes.append((job, outcome))
        if len(self.outcomes) == self.stop_after:
            signal.raise_signal(signal.SIGTERM)


@pytest.fixture(scope="module", autouse=True)
def small_table() -> Iterator[None]:
    """Table 2 with variants that train quickly, in this process; test_workers.py tests real processes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(table2, "VARIANTS", (FEAT, LP, SAME_AS_LP, DIVERGES))
        patch.setattr(reproduction, "perform_all", perform_here)
        yield


def perform_here(tasks: Sequence[Task], *, processes: int, stop: StopRequest) -> Iterator[tuple[Task, Outcome]]:
    for task in tasks:
        if stop.received is None:
            yield task, perform(task)


@pytest.fixture
def nothing_is_run(monkeypatch: pytest.MonkeyPatch) -> list[Task]:
    """The tasks that would have been done."""
    asked: list[Task] = []
    monkeypatch.setattr(reproduction, "perform_all", lambda tasks, **_: asked.extend(tasks) or ())
    return asked


def request(out: Path) -> ReproductionRequest:
    return ReproductionRequest(("table2",), Scope(seeds=2, datasets=("demo",)), processes=1, out=out)


@dataclass
class Story:
    """One folder, asked for the same three times."""

    out: Path
    stopped: Recorder
    rows_when_stopped: list[str]
    failed: Recorder
    failures: dict[str, Failure]
    rows_when_failed: list[str]
    finished: Recorder
    failures_at_last: dict[str, Failure]


def rows(out: Path) -> list[str]:
    return (out / "results.csv").read_text().splitlines()


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Story:
    """Stopped after one run; then one run is somebody else's; then nothing is in the way."""
    out = tmp_path_factory.mktemp("reproduction") / "out"
    stopped, failed, finished = Recorder(stop_after=1), Recorder(), Recorder()
    with pytest.raises(StoppedError, match="SIGTERM; run the same command again") as raised:
        reproduce(request(out), stopped)
    assert raised.value.exit_code == 143
    rows_when_stopped = rows(out)
    busy = Job("demo", LP, 0).key(None)
    with locked_folder(out / "runs" / f"{busy}-default"), locked_folder(out / "runs" / f"{busy}-reference"):
        failures = reproduce(request(out), failed)
    rows_when_failed = rows(out)
    at_last = reproduce(request(out), finished)
    return Story(out, stopped, rows_when_stopped, failed, failures, rows_when_failed, finished, at_last)


def test_a_run_that_two_rows_share_is_done_once(story: Story) -> None:
    results = Results(story.out)
    assert len(results.records) == RUNS
    assert len(rows(story.out)) == 1 + RUNS
    assert {(record.method, record.seed) for record in results.records.values()} == {
        (method, seed) for method in ("feat", "label_propagation", "gcn") for seed in (0, 1)
    }
    table = read_json(story.out / "table2.json")
    assert [row["title"] for row in table["rows"]] == ["Feat", "LP", "LP again", "Kipf-GCN"]
    lp, again = table["rows"][1:3]
    assert lp["cells"]["demo"]["accuracy"] == again["cells"]["demo"]["accuracy"]
    assert lp["cells"]["demo"]["accuracy"]["runs"] == 2


def test_a_stop_keeps_finished_runs_and_the_next_call_continues(story: Story) -> None:
    assert (story.stopped.plan, len(story.stopped.outcomes)) == ((RUNS, 0), 1)
    assert len(story.rows_when_stopped) == 2
    assert story.failed.plan == (RUNS, 1)
    assert story.stopped.outcomes[0][0] not in [job for job, _ in story.failed.outcomes]
    assert rows(story.out)[:2] == story.rows_when_stopped


def test_a_failure_is_named_and_retried_and_other_runs_continue(story: Story) -> None:
    ((name, failure),) = story.failures.items()
    job = Job("demo", LP, 0)
    assert (name, failure.exit_code) == (str(job), 7)
    assert "in use by process" in failure.reason
    assert len(story.failed.outcomes) == RUNS - 1
    assert len(story.rows_when_failed) == RUNS
    assert (story.finished.plan, story.failures_at_last) == ((RUNS, RUNS - 1), {})
    assert [job for job, _ in story.finished.outcomes] == [job]
    assert rows(story.out)[:RUNS] == story.rows_when_failed


def test_a_diverged_run_is_recorded_and_not_repeated(story: Story) -> None:
    diverged = [record for record in Results(story.out).records.values() if record.method == "gcn"]
    assert [(record.outcome, record.measured) for record in diverged] == [("diverged", Measurements())] * 2
    diverged_runs = [outcome for job, outcome in story.failed.outcomes if job.variant == DIVERGES]
    assert diverged_runs == [Diverged(), Diverged()]
    cell = read_json(story.out / "table2.json")["rows"][3]["cells"]["demo"]["accuracy"]
    assert cell == {"mean": None, "std": None, "runs": 2, "diverged": 2}


def test_recorded_runs_are_those_that_were_reported(story: Story) -> None:
    for job, outcome in (*story.stopped.outcomes, *story.failed.outcomes, *story.finished.outcomes):
        if isinstance(outcome, dict):
            record = Results(story.out).runs(job.dataset, job.variant)[job.seed]
            assert record.run == job.key(None)
            assert (record.outcome, record.changes) == ("finished", job.variant.changes_text)
            assert record.measured.test_accuracy == pytest.approx(outcome["paper"].test_accuracy, rel=1e-5)


def test_hashes_have_entries_in_the_settings_file(story: Story) -> None:
    results = Results(story.out)
    for record in results.records.values():
        assert results.meanings[record.settings]["method"] == record.method
        assert results.meanings[record.environment]["threads"] == 1
    about = read_json(story.out / "about.json")
    assert (about["runs"], len(about["dates"]), len(about["environments"])) == (RUNS, 2, 1)


def test_nothing_unfinished_is_left_behind(story: Story) -> None:
    assert list((story.out / "runs").iterdir()) == []
    assert list(story.out.glob("*.tmp")) == []


def test_with_all_runs_recorded_nothing_changes(story: Story) -> None:
    before = {path: path.read_bytes() for path in story.out.iterdir() if path.is_file()}
    recorder = Recorder()
    assert reproduce(request(story.out), recorder) == {}
    assert (recorder.plan, recorder.outcomes) == ((RUNS, RUNS), [])
    assert before == {path: path.read_bytes() for path in before}


def test_render_only_does_no_runs(story: Story) -> None:
    recorder = Recorder()
    more = Scope(seeds=5, datasets=("demo",))
    alone = ReproductionRequest(("table2",), more, out=story.out, render_only=True)
    assert reproduce(alone, recorder) == {}
    assert (recorder.plan, recorder.outcomes) == (None, [])
    assert len(rows(story.out)) == 1 + RUNS


def test_the_page_and_the_tables_are_written(story: Story) -> None:
    files = render(story.out, ("table2",))
    assert [file.name for file in files] == ["results.md", "table2.md", "table2.tex"]
    assert all(file.parent == story.out and file.stat().st_size for file in files)
    assert "| Kipf-GCN | diverged |" in (story.out / "table2.md").read_text()
    assert read_report(story.out).keys() == {"table2", "about"}


def test_a_run_with_an_incomplete_line_is_repeated(story: Story, tmp_path: Path, nothing_is_run: list[Task]) -> None:
    out = tmp_path / "out"
    out.mkdir()
    whole = (story.out / "results.csv").read_bytes()
    (out / "results.csv").write_bytes(whole[:-20])
    (out / "settings.json").write_bytes((story.out / "settings.json").read_bytes())
    recorder = Recorder()
    reproduce(request(out), recorder)
    assert (recorder.plan, len(nothing_is_run)) == ((RUNS, RUNS - 1), 1)
    assert whole.startswith((out / "results.csv").read_bytes())
    assert len(rows(out)) == RUNS


@pytest.mark.parametrize(
    ("prepare", "message"),
    [
        (lambda out: out.write_text("mine"), "not a directory"),
        (lambda out: [out.mkdir(), (out / "thesis.tex").write_text("mine")], "holds no results"),
    ],
    ids=["a file", "a folder of somebody else"],
)
def test_a_foreign_folder_or_file_is_unchanged(tmp_path: Path, prepare: Callable[[Path], object], message: str) -> None:
    out = tmp_path / "out"
    prepare(out)
    before = sorted(path.name for path in tmp_path.rglob("*"))
    with pytest.raises(UsageError, match=message):
        reproduce(request(out), Recorder())
    assert sorted(path.name for path in tmp_path.rglob("*")) == before


def test_a_corrupt_table_is_reported_before_any_run(tmp_path: Path) -> None:
    (tmp_path / "results.csv").write_text("run,settings\na,b\n")
    recorder = Recorder()
    with pytest.raises(CorruptFileError, match="columns"):
        reproduce(request(tmp_path), recorder)
    assert recorder.plan is None
    assert (tmp_path / "results.csv").read_text() == "run,settings\na,b\n"


def test_the_directory_of_a_recorded_run_is_removed(story: Story, tmp_path: Path) -> None:
    out = tmp_path / "out"
    shutil.copytree(story.out, out)
    (out / "runs" / f"{next(iter(Results(out).records))}-default").mkdir()
    reproduce(request(out), Recorder())
    assert list((out / "runs").iterdir()) == []


def test_render_only_creates_no_folder(story: Story, tmp_path: Path) -> None:
    missing = ReproductionRequest(("table2",), Scope(), out=tmp_path / "none", render_only=True)
    with pytest.raises(UsageError, match=r"holds no results\.csv"):
        reproduce(missing, Recorder())
    assert not missing.out.exists()
    with pytest.raises(UsageError, match=r"holds no figure1\.json"):
        reproduce(ReproductionRequest(("figure1",), Scope(), out=story.out, render_only=True), Recorder())


def test_a_table_without_runs_can_be_rendered(tmp_path: Path) -> None:
    counts = ReproductionRequest(("table1",), Scope(datasets=("demo",)), out=tmp_path)
    reproduce(counts, Recorder())
    before = (tmp_path / "table1.json").read_bytes()
    reproduce(replace(counts, render_only=True), Recorder())
    assert [file.name for file in render(tmp_path, ("table1",))] == ["results.md", "table1.md", "table1.tex"]
    assert (tmp_path / "table1.json").read_bytes() == before
    assert "No runs." in (tmp_path / "results.md").read_text()


def test_an_unreadable_data_set_is_named_once_and_others_continue(
    tmp_path: Path, nothing_is_run: list[Task], monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded: list[str] = []
    load_graph = jobs.load_graph

    def load(name: str, **options: Any) -> Graph:
        loaded.append(name)
        return load_graph(name, **options)

    monkeypatch.setattr(jobs, "load_graph", load)
    graph_key.cache_clear()
    recorder = Recorder()
    scope = Scope(seeds=2, datasets=("cora", "demo"), data_dir=NOWHERE)
    failures = reproduce(replace(request(tmp_path), scope=scope), recorder)
    ((name, failure),) = failures.items()
    assert (name, failure.exit_code) == ("cora", 4)
    assert str(NOWHERE) in failure.reason
    assert loaded == ["cora", "demo"]
    assert recorder.plan == (RUNS, 0)
    assert {task.job.dataset for task in nothing_is_run} == {"demo"}
    assert read_json(tmp_path / "table2.json")["datasets"] == ["cora", "demo"]


@pytest.mark.usefixtures("nothing_is_run")
def test_a_failed_table_is_named_and_the_others_are_written(tmp_path: Path) -> None:
    scope = Scope(seeds=1, datasets=("cora",), data_dir=NOWHERE)
    failures = reproduce(ReproductionRequest(("table1", "figure1", "presets"), scope, out=tmp_path), Recorder())
    assert [(name, failure.exit_code) for name, failure in failures.items()] == [
        ("cora", 4),
        ("table1", 4),
        ("figure1", 4),
    ]
    assert not (tmp_path / "table1.json").exists()
    assert read_report(tmp_path).keys() == {"presets", "about"}


def test_runs_of_different_kinds_are_recorded_separately(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def asks_for(kind: Kind) -> Artefact:
        jobs = {"jobs": lambda scope: scope.jobs((), [FEAT], kind), "kind": kind}
        return Artefact(kind, kind, "", lambda *_: {}, lambda _: {}, **jobs)

    plans = []
    paper, confidence = asks_for("paper"), asks_for("confidence")
    for artefacts in ([paper], [paper, confidence], [confidence]):
        monkeypatch.setattr(reproduction, "artefacts_named", lambda _, artefacts=artefacts: artefacts)
        recorder = Recorder()
        assert reproduce(replace(request(tmp_path), scope=Scope(seeds=1, datasets=("demo",))), recorder) == {}
        plans.append((recorder.plan, [list(outcome) for _, outcome in recorder.outcomes]))
    assert plans == [((1, 0), [["paper"]]), ((1, 0), [["confidence"]]), ((1, 1), [])]
    found = {kind: Results(tmp_path, kind).runs("demo", FEAT)[0] for kind in ("paper", "confidence")}
    assert found["paper"].run != found["confidence"].run
    accuracies = [record.measured.get("test_accuracy") for record in found.values()]
    assert accuracies[0] == accuracies[1] > 0.2
    assert found["confidence"].measured.get("nll") > 0


def test_what_several_tables_measure_of_a_run_is_recorded_after_one_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def asks_for(kind: Kind) -> Artefact:
        jobs = {"jobs": lambda scope: scope.jobs((), [FEAT], kind), "kind": kind}
        return Artefact(kind, kind, "", lambda *_: {}, lambda _: {}, **jobs)

    monkeypatch.setattr(reproduction, "artefacts_named", lambda _: [asks_for("paper"), asks_for("confidence")])
    recorder = Recorder()
    assert reproduce(replace(request(tmp_path), scope=Scope(seeds=1, datasets=("demo",))), recorder) == {}
    assert (recorder.plan, [list(outcome) for _, outcome in recorder.outcomes]) == ((1, 0), [["paper", "confidence"]])
    seconds = [Results(tmp_path, kind).runs("demo", FEAT)[0].measured for kind in ("paper", "confidence")]
    assert seconds[0].get("processor_seconds") == seconds[1].get("processor_seconds") > 0
    assert not list((tmp_path / "runs").iterdir())


@pytest.mark.usefixtures("nothing_is_run")
def test_artefacts_without_runs_are_announced(tmp_path: Path) -> None:
    recorder = Recorder()
    reproduce(ReproductionRequest(("table1", "table2"), Scope(seeds=1, datasets=("demo",)), out=tmp_path), recorder)
    assert recorder.notices == ["computing table1"]


@pytest.mark.usefixtures("nothing_is_run")
def test_taking_over_the_lock_of_a_killed_process_is_reported(tmp_path: Path) -> None:
    (tmp_path / "run.lock").write_text("4711")
    recorder = Recorder()
    reproduce(request(tmp_path), recorder)
    (notice,) = recorder.notices
    assert "took over from process 4711" in notice
