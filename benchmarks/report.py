"""Write what was recorded into README.md, docs/results.md and docs/speed.md, and draw their pictures.

python benchmarks/report.py     (needs matplotlib: pip install 'confgcn[figures]')
"""

from __future__ import annotations

import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import baseline_tables
import matplotlib.pyplot as plt
import speed_tables
from accuracy import RESULTS

ROOT = Path(__file__).parent.parent
GRAPHS = ("citeseer", "cora", "pubmed", "cora_ml", "demo")
# Table 2 of the paper.
PAPER = {
    "confgcn": {"citeseer": "72.7 ± 0.8", "cora": "82.0 ± 0.3", "pubmed": "79.5 ± 0.5", "cora_ml": "86.5 ± 0.3"},
    "gcn": {"citeseer": "69.4 ± 0.4", "cora": "80.9 ± 0.4", "pubmed": "76.8 ± 0.2", "cora_ml": "85.7 ± 0.3"},
}
RELEASED = "--method confgcn --preset released"
UNIFORM = f"{RELEASED} --influence uniform"
PRINTED = "--method confgcn --preset paper"
ROWS = (
    ("ConfGCN, Table 2", None, PAPER["confgcn"]),
    ("ConfGCN `released`", RELEASED, None),
    ("the same, every influence uniform", UNIFORM, None),
    ("ConfGCN `paper`", PRINTED, None),
    ("Kipf-GCN, Table 2", None, PAPER["gcn"]),
    ("Kipf-GCN `tuned`", "--method gcn --preset tuned", None),
    ("Kipf-GCN `reference`", "--method gcn --preset reference", None),
)
LIMITS = (
    ("ConfGCN `paper`", PRINTED, None),
    ("with `normalisation=softmax`", f"{PRINTED} --set normalisation=softmax", None),
    ("with `dropout=0.5`", f"{PRINTED} --set dropout=0.5", None),
    ("with both", f"{PRINTED} --set normalisation=softmax --set dropout=0.5", None),
)


def main() -> None:
    """Regenerate everything that quotes a number."""
    rows = read_rows()
    blocks = {
        "accuracy": accuracy_table(rows, ROWS),
        "limits of paper": accuracy_table(rows, LIMITS),
        "confidence": confidence_table(rows),
        "demo": demo_transcript(),
        **baseline_tables.blocks(rows),
        **speed_tables.blocks(),
    }
    for path in (
        ROOT / "README.md",
        ROOT / "docs" / "results.md",
        ROOT / "docs" / "baselines.md",
        ROOT / "docs" / "speed.md",
    ):
        text = path.read_text()
        for name, block in blocks.items():
            pattern = rf"(<!-- {name} -->\n).*?(<!-- end -->)"
            text = re.sub(pattern, lambda found, new=block: found[1] + new + found[2], text, flags=re.S)
        path.write_text(text)
    draw(rows)
    speed_tables.draw(ROOT / "docs" / "images")


def read_rows() -> dict[str, Any]:
    """Results by graph and options, without the number of seeds."""
    rows: dict[str, Any] = {}
    for row in map(json.loads, RESULTS.read_text().splitlines()):
        key = re.sub(r" --seeds \d+", "", row["command"].removeprefix("confgcn train "))
        if key in rows:
            raise ValueError(f"two results for {key!r}")
        rows[key] = row
    return rows


def demo_transcript() -> str:
    """What `confgcn train demo` prints, but for its last line, which tells time and place."""
    with tempfile.TemporaryDirectory() as scratch:
        words = [sys.executable, "-m", "confgcn", "train", "demo", "--out", f"{scratch}/run"]
        shown = subprocess.run(words, capture_output=True, text=True, check=True, env={**os.environ, "COLUMNS": "80"})
    return "```\n$ confgcn train demo\n" + "\n".join(shown.stdout.splitlines()[:-1]) + "\n```\n"


def accuracy_table(rows: dict[str, Any], variants: tuple[tuple[str, str | None, dict[str, str] | None], ...]) -> str:
    """Test accuracy in percent, mean ± sample standard deviation."""
    lines = ["| test accuracy, % | " + " | ".join(GRAPHS) + " |", "|---" * (len(GRAPHS) + 1) + "|"]
    for title, variant, published in variants:
        if published is not None:
            cells = [published.get(graph, "") for graph in GRAPHS]
        else:
            found = [rows.get(f"{graph} {variant}") for graph in GRAPHS]
            cells = [baseline_tables.accuracy(row) for row in found]
        lines.append(f"| {title} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def confidence_table(rows: dict[str, Any]) -> str:
    """How well two confidences of the released preset tell right from wrong, mean over the runs."""
    lines = ["| AUROC for a right prediction | " + " | ".join(GRAPHS) + " |", "|---" * (len(GRAPHS) + 1) + "|"]
    for title, key in (("largest probability", "auroc_probability"), ("learned precision", "auroc_precision")):
        found = [rows.get(f"{graph} {RELEASED}") for graph in GRAPHS]
        cells = [f"{statistics.fmean(c[key] for c in r['confidence']):.2f}" if r else "" for r in found]
        lines.append(f"| {title} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def draw(rows: dict[str, Any]) -> None:
    """Left: the learned influences against the plain mean. Right: what the model says against what is right."""
    plt.rcParams.update({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False, "svg.hashsalt": "0"})
    figure, (left, right) = plt.subplots(1, 2, figsize=(8.4, 3.0), constrained_layout=True)
    _draw_influence(left, rows)
    _draw_confidence(right, rows)
    folder = ROOT / "docs" / "images"
    folder.mkdir(exist_ok=True)
    figure.savefig(folder / "overview.svg", metadata={"Date": None})


def _draw_influence(axis: Any, rows: dict[str, Any]) -> None:
    variants = (("learned influence", RELEASED, "black"), ("every influence uniform", UNIFORM, "white"))
    for shift, (label, variant, fill) in zip((-0.12, 0.12), variants, strict=True):
        found = [rows[f"{graph} {variant}"] for graph in GRAPHS]
        heights = [100 * row["test_accuracy"] for row in found]
        errors = [100 * row["test_accuracy_std"] for row in found]
        places = [place + shift for place in range(len(GRAPHS))]
        axis.errorbar(places, heights, errors, fmt="o", color="black", markerfacecolor=fill, label=label, capsize=2)
    axis.set(ylim=(65, 95), xlim=(-0.5, 4.5), ylabel="test accuracy, %", title="the influences change nothing")
    axis.set_xticks(range(len(GRAPHS)), GRAPHS)
    axis.legend(frameon=False, loc="upper left", ncols=2)


def _draw_confidence(axis: Any, rows: dict[str, Any]) -> None:
    summaries = rows[f"demo {RELEASED}"]["confidence"]
    for key, label, style in (("accuracy", "is right", "o-"), ("mean_probability", "says", "s--")):
        values = [[100 * summary["quarters"][i][key] for summary in summaries] for i in range(4)]
        means, errors = [statistics.fmean(v) for v in values], [statistics.stdev(v) for v in values]
        axis.errorbar(range(4), means, errors, fmt=style, color="black", label=label, capsize=2)
    axis.set(
        ylim=(0, 100),
        ylabel="%",
        xlabel="quarter of the test nodes, by probability",
        title="it knows more than it says (demo)",
    )
    axis.set_xticks(range(4), ["least sure", "", "", "most sure"])
    axis.legend(frameon=False)


if __name__ == "__main__":
    main()
