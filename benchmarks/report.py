"""Write what was recorded into README.md and docs/, and draw their pictures.

python benchmarks/report.py     (needs matplotlib: pip install 'confgcn[figures]')

docs/results.md is written whole, from the folder reproduction/; elsewhere the text between <!-- name --> and
<!-- end --> is.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import minibatch_tables
import own_graph_tables
import parts_tables
import reliability_tables
import speed_tables

from reproduction import claims, confidence, presets, table2
from reproduction.artefacts import ARTEFACTS
from reproduction.folder import read_report
from reproduction.page import page, protocol
from reproduction.rendering import Table

ROOT = Path(__file__).parent.parent
REPRODUCTION = ROOT / "reproduction" / "results"
IMAGES = ROOT / "docs" / "images"
DOCUMENTS = ("baselines", "benchmarks", "choosing", "paper_and_code", "reliability", "tutorial")
WITH_BLOCKS = [ROOT / "README.md", *(ROOT / "docs" / f"{name}.md" for name in DOCUMENTS)]
RUN_AGAIN = ("demo", "rows", *own_graph_tables.TRANSCRIPTS)  # blocks that no file of results holds
CONFIDENCES = ("AUROC of the probability for correct predictions", "AUROC of the precision for correct predictions")


def main() -> None:
    """Regenerate everything that quotes a number."""
    (ROOT / "docs" / "results.md").write_text(results_page())
    blocks = {"demo": demo_transcript(), **own_graph_tables.transcripts(), **recorded_blocks()}
    for path in WITH_BLOCKS:
        path.write_text(filled(path.read_text(), blocks))
    IMAGES.mkdir(exist_ok=True)
    report = read_report(REPRODUCTION)
    for name in ARTEFACTS.keys() & report.keys():
        for file, picture in ARTEFACTS[name].pictures(report[name]).items():
            if file.endswith(".svg"):
                (IMAGES / file).write_bytes(picture)
    speed_tables.draw(IMAGES)


def results_page() -> str:
    """docs/results.md."""
    return page(read_report(REPRODUCTION), images="images/")


def recorded_blocks() -> dict[str, str]:
    """What is taken from files of results, by name."""
    report = read_report(REPRODUCTION)
    return {
        "protocol": protocol(report) + "\n",
        "table 2": table2.tables(report["table2"])[""].markdown(),
        "asked": confidence.tables(report["confidence"])["targets"].markdown(),
        "mixed": confidence.tables(report["confidence"])["mixed"].markdown(),
        "seconds": table2.tables(report["table2"])["seconds"].markdown(),
        "control": table2.uniform_influence(report["table2"]) + "\n",
        "confidences of released": confidence_table(claims.tables(report["claims"])["released"]).markdown(),
        "presets": presets.tables(report["presets"])["others"].markdown(),
        "limits of paper": presets.tables(report["presets"])["limits"].markdown(),
        **speed_tables.blocks(),
        **minibatch_tables.blocks(),
        **parts_tables.blocks(),
        **own_graph_tables.blocks(),
        **reliability_tables.blocks(),
    }


def filled(text: str, blocks: dict[str, str]) -> str:
    """The text with its blocks replaced; a block that nothing fills is an error."""
    for name in re.findall(r"<!-- (?!end )(.*?) -->\n", text):
        if name in blocks:
            pattern = rf"(<!-- {name} -->\n).*?(<!-- end -->)"
            text = re.sub(pattern, lambda found, new=blocks[name]: found[1] + new + found[2], text, flags=re.S)
        elif name not in RUN_AGAIN:
            raise ValueError(f"no results for the block {name!r}")
    return text


def confidence_table(table: Table) -> Table:
    """The rows that say how well two confidences tell right from wrong."""
    return Table("", table.header, [row for row in table.rows if row[0] in CONFIDENCES])


def demo_transcript() -> str:
    """What `confgcn train demo` prints, but for its last line, which tells time and place."""
    with tempfile.TemporaryDirectory() as scratch:
        words = [sys.executable, "-m", "confgcn", "train", "demo", "--out", f"{scratch}/run"]
        shown = subprocess.run(words, capture_output=True, text=True, check=True, env={**os.environ, "COLUMNS": "80"})
    return "```\n$ confgcn train demo\n" + "\n".join(shown.stdout.splitlines()[:-1]) + "\n```\n"


if __name__ == "__main__":
    main()
