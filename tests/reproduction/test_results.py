"""The tables of recorded runs: reading, appending, recovery after a crash, corrupt files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from confgcn import __version__
from confgcn.exceptions import CorruptFileError, ResourceError
from reproduction import results as results_module
from reproduction.jobs import Job, Variant
from reproduction.measurements import CONFIDENCE_NAMES, ConfidenceMeasurements, Measurements
from reproduction.results import FILES, IDENTITY, Results, RunRecord, environment, provenance

MakeRecord = Callable[..., RunRecord]

COLUMNS = FILES["paper"].columns
GCN = Variant("Kipf-GCN", "gcn")
MEASURED = {
    "test_accuracy": 2 / 3,
    "best_epoch": 171,
    "epochs": 1234,
    "accuracy_by_entropy": (1 / 3, 0.5, 1.0, 0.0),
    "influence_by_precision": (1e-12, 123456.789, 1.0, 2.0),
}


@pytest.fixture
def three(results: Results, record: MakeRecord) -> Results:
    """Three runs, the second of which diverged."""
    for seed, measured in enumerate((MEASURED, {}, {"test_accuracy": 0.5})):
        job = Job("demo", GCN.changed("deep", num_layers=3, activation="identity"), seed)
        results.add(record(job, **measured), {"settings": {"a": 1}})
    return results


def test_records_are_read_back_unchanged(three: Results) -> None:
    again = Results(three.folder)
    assert again.records == three.records
    assert list(again.records) == list(three.records)
    assert again.meanings == three.meanings == {"settings": {"a": 1}}


def test_numbers_are_rounded_and_missing_values_stay_missing(three: Results) -> None:
    first, second, _ = three.records.values()
    assert first.measured == Measurements(
        test_accuracy=0.666667,
        best_epoch=171,
        epochs=1234,
        accuracy_by_entropy=(0.333333, 0.5, 1.0, 0.0),
        influence_by_precision=(1e-12, 123457.0, 1.0, 2.0),
    )
    assert (second.outcome, second.measured) == ("diverged", Measurements())
    assert (first.outcome, first.changes, first.seed) == ("finished", "num_layers=3 activation=identity", 0)


def test_there_is_one_header_and_one_line_per_run(three: Results, record: MakeRecord) -> None:
    again = Results(three.folder)
    again.add(record(Job("demo", GCN, 0), test_accuracy=0.1), {})
    header, *lines = three.table.read_text().splitlines()
    assert header == ",".join(COLUMNS)
    assert [line.split(",")[0] for line in lines] == list(again.records)


def test_an_incomplete_last_line_is_dropped_and_the_others_are_unchanged(three: Results) -> None:
    complete = three.table.read_bytes()
    start = complete[:-1].rindex(b"\n") + 1
    for end in (start + 1, (start + len(complete)) // 2, len(complete) - 1):
        three.table.write_bytes(complete[:end])
        results = Results(three.folder)
        assert len(results.records) == 2
        results.drop_incomplete_row()
        assert three.table.read_bytes() == complete[:start]


def test_a_dropped_run_can_be_added_again(three: Results) -> None:
    complete = three.table.read_bytes()
    last = list(three.records.values())[-1]
    three.table.write_bytes(complete[:-9])
    results = Results(three.folder)
    results.drop_incomplete_row()
    results.add(last, {})
    assert three.table.read_bytes() == complete


@pytest.mark.parametrize("kept", [3, len(",".join(COLUMNS)), len(",".join(COLUMNS)) + 9])
def test_after_a_crash_in_the_first_write_a_run_can_be_added(results: Results, record: MakeRecord, kept: int) -> None:
    only = record(Job("demo", GCN, 0), test_accuracy=0.5)
    results.add(only, {})
    complete = results.table.read_bytes()
    results.table.write_bytes(complete[:kept])
    again = Results(results.folder)
    assert again.records == {}
    again.drop_incomplete_row()
    again.add(only, {})
    assert again.table.read_bytes() == complete


def test_a_complete_table_is_not_rewritten(three: Results) -> None:
    before = three.table.stat().st_mtime_ns, three.table.stat().st_ino
    Results(three.folder).drop_incomplete_row()
    assert (three.table.stat().st_mtime_ns, three.table.stat().st_ino) == before


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: text.replace("test_accuracy", "accuracy", 1), "columns are not those of this version"),
        (lambda _: "node,label\n1,2\n", "columns are not those of this version"),
        (lambda text: text + "a,b,c\n", "line 5"),
        (lambda text: text.replace(",diverged,", ",diverged,high", 1), "line 3.*high"),
        (lambda text: text.replace(",2,finished,", ",two,finished,", 1), "line 4.*two"),
    ],
    ids=["other version", "another table", "short row", "no number", "no seed"],
)
def test_a_table_of_another_format_is_refused_and_unchanged(
    three: Results, change: Callable[[str], str], message: str
) -> None:
    text = change(three.table.read_text())
    three.table.write_text(text)
    with pytest.raises(CorruptFileError, match=rf"results\.csv.*{message}"):
        Results(three.folder)
    assert three.table.read_text() == text


def test_runs_of_the_same_settings_are_found_by_seed(results: Results, record: MakeRecord) -> None:
    deep = GCN.changed("deep", num_layers=3)
    for job in (
        Job("demo", GCN, 7),
        Job("demo", GCN, 0),
        Job("demo", Variant("another name of the same", "gcn", "reference"), 3),
        Job("demo", deep, 1),
        Job("cora", GCN, 2),
        Job("demo", Variant("Feat", "feat"), 4),
    ):
        results.add(record(job, test_accuracy=job.seed / 10), {"e" * 16: {}})
    found = Results(results.folder).runs("demo", GCN)
    assert {seed: run.measured.test_accuracy for seed, run in found.items()} == {0: 0.0, 3: 0.3, 7: 0.7}
    assert results.runs("demo", deep).keys() == {1}
    assert results.runs("pubmed", GCN) == {}


def test_a_key_is_in_the_results_once_its_run_is(results: Results, record: MakeRecord) -> None:
    one = record(Job("demo", GCN, 0))
    assert one.run not in results
    results.add(one, {})
    assert one.run in results


def test_the_legend_is_written_before_the_row(results: Results, record: MakeRecord) -> None:
    results.table.mkdir()  # the row can not be written
    with pytest.raises(ResourceError, match=r"could not write .*results\.csv"):
        results.add(record(Job("demo", GCN, 0)), {"environment": {"cores": 2}})
    assert '"cores": 2' in results.legend.read_text()
    assert results.records == {}


def test_a_folder_that_holds_nothing_has_no_records(tmp_path: Path) -> None:
    results = Results(tmp_path)
    results.drop_incomplete_row()
    assert (results.records, results.meanings) == ({}, {})
    assert list(tmp_path.iterdir()) == []


def test_a_table_with_only_a_header_gets_no_second_one(results: Results, record: MakeRecord) -> None:
    results.table.write_text(",".join(COLUMNS) + "\n")
    Results(results.folder).add(record(Job("demo", GCN, 0), test_accuracy=0.5), {"e" * 16: {}})
    assert len(Results(results.folder).records) == 1


def test_a_table_without_its_settings_file_is_refused(results: Results, record: MakeRecord) -> None:
    results.add(record(Job("demo", GCN, 0), test_accuracy=0.5), {"e" * 16: {}})
    results.legend.unlink()
    with pytest.raises(CorruptFileError, match=r"settings\.json: missing"):
        Results(results.folder)


def confident(record: MakeRecord, job: Job, **numbers: float) -> RunRecord:
    """The record of a run whose confidences were looked at; without any its training diverged."""
    return replace(record(job), outcome="finished" if numbers else "diverged", measured=ConfidenceMeasurements(numbers))


def test_confidence_runs_have_their_own_table(results: Results, record: MakeRecord) -> None:
    results.add(record(Job("demo", GCN, 0), test_accuracy=0.5), {"paper": {"a": 1}})
    before = results.table.read_bytes(), results.legend.read_bytes()
    other = Results(results.folder, "confidence")
    assert other.records == {}
    job = Job("demo", GCN, 0, "confidence")
    other.add(confident(record, job, test_accuracy=2 / 3, nll=0.5), {"settings": {"b": 2}})
    assert (results.table.read_bytes(), results.legend.read_bytes()) == before
    assert (other.table.name, other.legend.name) == ("confidence.csv", "confidence_settings.json")
    assert other.table.read_text().splitlines()[0] == ",".join([*IDENTITY, *CONFIDENCE_NAMES])
    assert Results(results.folder).runs("demo", GCN)[0].measured == Measurements(test_accuracy=0.5)
    assert Results(results.folder, "confidence").meanings == {"settings": {"b": 2}}


def test_confidence_records_are_read_back_unchanged(results: Results, record: MakeRecord) -> None:
    kept = Results(results.folder, "confidence")
    everything = {name: (number + 1) / 7 for number, name in enumerate(CONFIDENCE_NAMES)}
    for seed, numbers in enumerate((everything, {}, {"ece": 1e-12, "no_label_nodes": 73})):
        kept.add(confident(record, Job("demo", GCN, seed, "confidence"), **numbers), {"e" * 16: {}})
    again = Results(results.folder, "confidence")
    assert again.records == kept.records
    first, second, third = again.records.values()
    assert list(first.measured.cells()) == pytest.approx(list(everything.values()), rel=1e-5)
    assert (second.outcome, set(second.measured.cells())) == ("diverged", {None})
    assert (third.measured.get("ece"), third.measured.get("no_label_nodes")) == (1e-12, 73)
    assert third.measured.get("nll") is None
    assert again.runs("demo", GCN).keys() == {0, 1, 2}


def test_an_incomplete_line_of_confidences_is_dropped(results: Results, record: MakeRecord) -> None:
    kept = Results(results.folder, "confidence")
    for seed in range(2):
        kept.add(confident(record, Job("demo", GCN, seed, "confidence"), nll=0.5), {"e" * 16: {}})
    complete = kept.table.read_bytes()
    kept.table.write_bytes(complete[:-5])
    again = Results(results.folder, "confidence")
    again.drop_incomplete_row()
    assert complete.startswith(kept.table.read_bytes())
    assert len(Results(results.folder, "confidence").records) == 1


def test_a_table_of_one_kind_is_not_read_as_the_other(results: Results, record: MakeRecord) -> None:
    results.add(record(Job("demo", GCN, 0), test_accuracy=0.5), {"e" * 16: {}})
    results.table.rename(results.folder / "confidence.csv")
    with pytest.raises(CorruptFileError, match=r"confidence\.csv: its columns are not those"):
        Results(results.folder, "confidence")


def test_a_table_that_is_not_text_is_refused(results: Results) -> None:
    results.table.write_bytes(b"\xff\xfe\n")
    with pytest.raises(CorruptFileError, match="not readable as text"):
        Results(results.folder)


def test_a_hash_without_an_entry_is_a_corrupt_file(three: Results) -> None:
    assert three.meaning("settings") == {"a": 1}
    three.meanings["odd"] = 5  # type: ignore[assignment]
    for key in ("odd", "none"):
        with pytest.raises(CorruptFileError, match=rf"settings\.json: corrupt, no entry for {key}"):
            three.meaning(key)


@pytest.mark.parametrize("number", ["nan", "inf", "1e999"])
def test_a_number_that_is_not_finite_is_refused(three: Results, number: str) -> None:
    three.table.write_text(three.table.read_text().replace("0.666667", number))
    with pytest.raises(CorruptFileError, match=r"results\.csv, line 2: not a row of results \(.* is not finite\)"):
        Results(three.folder)


def test_an_unterminated_cell_is_a_corrupt_file(three: Results) -> None:
    three.table.write_text(three.table.read_text().replace("0.666667", '"' + "x" * 200_000))
    with pytest.raises(CorruptFileError, match=r"results\.csv"):
        Results(three.folder)


def test_provenance_counts_all_runs_with_their_dates_and_environments(results: Results, record: MakeRecord) -> None:
    for seed, (date, machine) in enumerate([("2026-11-16", "b"), ("2026-11-14", "a"), ("2026-11-15", "b")]):
        run = replace(record(Job("demo", GCN, seed), test_accuracy=0.5), date=date, environment=machine)
        results.add(run, {machine: {"processor": machine}, "settings": {}, "unused": {}})
    assert provenance(results) == {
        "runs": 3,
        "dates": ["2026-11-14", "2026-11-16"],
        "environments": [{"processor": "a"}, {"processor": "b"}],
    }


def test_without_runs_the_provenance_is_empty(results: Results) -> None:
    assert provenance(results) == {"runs": 0, "dates": [], "environments": []}


def test_versions_and_hardware_are_named() -> None:
    key, found = environment()
    assert found["versions"]["torch"] == str(torch.__version__)
    assert found["versions"]["confgcn"] == __version__
    assert found["processor"]
    assert environment() == (key, found)


def test_another_processor_is_another_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    before, _ = environment()
    (tmp_path / "cpuinfo").write_text("processor : 0\nmodel name : Abacus: 3000\nmodel name : Abacus: 3000\n")
    monkeypatch.setattr(results_module, "CPU_INFO", tmp_path / "cpuinfo")
    key, found = environment()
    assert found["processor"] == "Abacus: 3000"
    assert key != before


def test_a_processor_without_a_name_is_unknown(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(results_module, "CPU_INFO", tmp_path / "none")
    assert environment()[1]["processor"]
