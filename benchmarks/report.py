"""Write the recorded results into README.md and docs/, and draw the pictures.

python benchmarks/report.py     (needs matplotlib: pip install 'confgcn[figures]')

docs/results.md is written as a whole, from reproduction/results; in other documents the text between <!-- name --> and
<!-- end --> is replaced.
"""

from __future__ import annotations

import re
from pathlib import Path

import capacity
import exactness
import labels
import limits
import mapped
import minibatch
import new_nodes
import propagation_rows
import reading
import reliability
import scaling
import speed
import speed_targets
import transcripts
import worker_accuracy
import workers

from reproduction import claims, confidence, presets, robustness, table2
from reproduction.artefacts import ARTEFACTS
from reproduction.folder import read_report
from reproduction.formatting import Numbers, listed
from reproduction.page import page, protocol
from reproduction.rendering import Table

ROOT = Path(__file__).parent.parent
REPRODUCTION = ROOT / "reproduction" / "results"
IMAGES = ROOT / "docs" / "images"
BENCHMARKS = (
    *(speed, speed_targets, scaling, limits, minibatch, exactness, worker_accuracy, workers, capacity),
    *(new_nodes, mapped, labels, reading, reliability, propagation_rows),
)
DOCUMENTS = ("baselines", "benchmarks", "choosing", "paper_and_code", "reliability", "your_graph")
WITH_BLOCKS = [ROOT / "README.md", *(ROOT / "docs" / f"{name}.md" for name in DOCUMENTS)]
NOT_RECORDED = ("rows", *transcripts.NAMES)  # blocks that are not written from recorded results
COMPARED = 3  # rows of the comparison in the README: those with calibration
CONFIDENCES = ("AUROC of the probability for correct predictions", "AUROC of the precision for correct predictions")


def main() -> None:
    """Regenerate every document with numbers."""
    (ROOT / "docs" / "results.md").write_text(results_page())
    blocks = {**transcripts.blocks(), **recorded_blocks()}
    for path in WITH_BLOCKS:
        path.write_text(filled(path.read_text(), blocks))
    IMAGES.mkdir(exist_ok=True)
    report = read_report(REPRODUCTION)
    for name in ARTEFACTS.keys() & report.keys():
        for file, picture in ARTEFACTS[name].pictures(report[name]).items():
            if file.endswith(".svg"):
                (IMAGES / file).write_bytes(picture)
    speed.draw(IMAGES)


def results_page() -> str:
    """docs/results.md."""
    return page(read_report(REPRODUCTION), images="images/")


def recorded_blocks() -> dict[str, str]:
    """Every block that is written from recorded results, by name."""
    report = read_report(REPRODUCTION)
    return {
        "protocol": protocol(report) + "\n",
        "table 2": table2.tables(report["table2"])[""].markdown(),
        "comparison": comparison(report["confidence"], report["robustness"]),
        "targets": confidence.tables(report["confidence"])["targets"].markdown(),
        "mixed": confidence.tables(report["confidence"])["mixed"].markdown(),
        "seconds": table2.tables(report["table2"])["seconds"].markdown(),
        "control": table2.uniform_influence(report["table2"]) + "\n",
        "confidences of released": confidence_table(claims.tables(report["claims"])["released"]).markdown(),
        "presets": presets.tables(report["presets"])["others"].markdown(),
        "limits of paper": presets.tables(report["presets"])["limits"].markdown(),
        **{name: text for benchmark in BENCHMARKS for name, text in benchmark.blocks().items()},
    }


def filled(text: str, blocks: dict[str, str]) -> str:
    """The text with its blocks replaced; an unknown block is an error."""
    for name in re.findall(r"<!-- (?!end )(.*?) -->\n", text):
        if name in blocks:
            pattern = rf"(<!-- {name} -->\n).*?(<!-- end -->)"
            text = re.sub(pattern, lambda found, new=blocks[name]: found[1] + new + found[2], text, flags=re.S)
        elif name not in NOT_RECORDED:
            raise ValueError(f"no results for the block {name!r}")
    return text


def comparison(numbers: Numbers, compared: Numbers) -> str:
    """The tables of accuracy and calibration and of graphs of other kinds, with their protocol."""
    cells = [row["cells"][numbers["datasets"][0]] for row in numbers["methods"]]
    seeds = next((cell["runs"] for cell in cells if cell is not None), 0)
    table = confidence.tables(numbers)["comparison"]
    calibrated = Table("", table.header, table.rows[:COMPARED])
    others = robustness.other_graphs(compared)
    shown = [calibrated.markdown(), *([] if others is None else [others.markdown()])]
    runs = (
        f"{seeds} seeds" if others is None else f"{seeds} seeds, {robustness.splits(compared)} splits of other graphs"
    )
    return "\n".join([*shown, f"{runs}, {listed(numbers['dates'])}, `confgcn reproduce confidence robustness`.\n"])


def confidence_table(table: Table) -> Table:
    """The rows with the AUROC of the two confidences."""
    return Table("", table.header, [row for row in table.rows if row[0] in CONFIDENCES])


if __name__ == "__main__":
    main()
