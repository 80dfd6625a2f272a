"""The page of results: protocol, tables, pictures, verdicts. Every number on it comes from the results."""

from __future__ import annotations

from collections.abc import Mapping

from confgcn.reporting.render import PARTS
from confgcn.reporting.verdict import Verdict
from confgcn.reporting.words import Numbers, listed

Report = Mapping[str, Numbers]

TITLES = {
    "table1": "Table 1: the data sets",
    "table2": "Table 2: every method (Q1)",
    "figure1": "Figure 1: the motivating picture",
    "figure2": "Figure 2: mixed neighbourhoods and many neighbours (Q2)",
    "figure3": "Figure 3: depth (Q3)",
    "figure4": "Figure 4: without terms of the objective (Q4)",
    "claims": "What the text claims in passing",
    "presets": "Beyond the paper: other settings",
}
NOTES = {
    "table1": (
        "The split of cora_ml is not published; its label mismatch is that of drawn splits, mean ± standard deviation."
    ),
    "table2": (
        "In brackets the paper's figure. † marks what is more than its printed standard deviation below it, or more "
        "than a point where none is printed. Methods that draw nothing have the same result with every seed on a "
        "public split."
    ),
    "table2 difference": (
        "Difference to ConfGCN `released` in points, paired by seed, with the percentile interval of the mean over "
        "resampled seeds. It tells how steady the difference is over initialisations (on cora_ml over splits too); the "
        "test nodes are always the same."
    ),
    "table2 seconds": "Processor seconds of one run, training and predicting, one thread; beside a second process.",
    "figure1": (
        "Width of an edge: its weight over the mean of the neighbourhood. Shown is a node that is put right by "
        "influences one can tell apart, if there is one; else one that Kipf-GCN gets wrong and ConfGCN right, in the "
        "most mixed neighbourhood."
    ),
    "figure2": (
        "The paper's values are in its picture alone. Quarters of the test nodes. The entropy is that of the true "
        "labels of the neighbours, the node itself left out. Rule for ties: nodes of equal entropy or degree share "
        "their places, so each counts in a quarter by the share of those places that lies in it. Most nodes have "
        "entropy zero, which is why the first quarters are equal."
    ),
    "figure3": (
        "The paper's values are in its picture alone. Every setting but the depth and the activation is that of the "
        "preset, which was chosen for two layers."
    ),
    "figure4": (
        "The paper's values are in its picture alone. Removed means that the term's weight is zero, other settings as "
        "they are. The paper does not name its order; here the objective is taken apart from its end."
    ),
    "claims": "Over the runs of Table 2; AUROC of a half is a coin.",
    "presets": "Made by `confgcn reproduce presets`. An empty cell has not been run; the slowest have fewer seeds.",
}


def page(report: Report, *, images: str = "") -> str:
    """Markdown, with pictures taken from the folder ``images``."""
    parts = [_head(report), _summary(report)]
    for name in TITLES:
        if name in report:
            parts.append(_section(name, report[name], images))
    return "\n".join(parts)


def protocol(report: Report) -> str:
    """How many runs, when, on what."""
    about = report["about"]
    if not about["runs"]:
        return "No runs."
    dates = " to ".join(dict.fromkeys(about["dates"]))
    machines = listed([_machine(environment) for environment in about["environments"]])
    return f"{about['runs']:,} runs, {dates}, {_seeds(report)}, on {machines}."


def _head(report: Report) -> str:
    return (
        "# The paper, remade\n\n"
        "Made by `confgcn reproduce all` from the settings in this repository; nothing on this page is typed by hand. "
        f"{protocol(report)} Accuracy is that of the test nodes at the epoch that the preset's rule selects on the "
        "validation nodes, mean ± sample standard deviation over seeds; on cora_ml every seed draws its own split. A "
        "run has diverged when it met a number that is not finite; means are over the others.\n"
    )


def _machine(environment: Numbers) -> str:
    versions = environment["versions"]
    return (
        f"{environment['cores']} cores of an {environment['processor']} ({environment['system']}), Python "
        f"{environment['python']}, torch {versions['torch']}, confgcn {versions['confgcn']}, "
        f"{environment['kernels']} kernels"
    )


def _seeds(report: Report) -> str:
    rows = report.get("table2", {}).get("rows", [])
    counts = sorted({cell["accuracy"]["runs"] for row in rows for cell in row["cells"].values() if cell})
    if not counts:
        return "no run of Table 2"
    return f"{counts[0]} seeds" if len(counts) == 1 else f"{counts[0]} to {counts[-1]} seeds"


def _summary(report: Report) -> str:
    rows = [(verdict, name) for name in TITLES if name in report for verdict in verdicts_of(name, report[name])]
    lines = [f"| {verdict.claim} | {verdict.finding} |" for verdict, _ in rows]
    return "\n".join(["## In short", "", "| the paper says | here it |", "|---|---|", *lines]) + "\n"


def verdicts_of(name: str, numbers: Numbers) -> list[Verdict]:
    """The verdicts of a table or figure."""
    found: list[Verdict] = PARTS[name].verdicts(numbers)
    return found


def _section(name: str, numbers: Numbers, images: str) -> str:
    parts = [f"## {TITLES[name]}\n", *(verdict.markdown() for verdict in verdicts_of(name, numbers))]
    tables = PARTS[name].tables(numbers)
    if PARTS[name].draw is not None and tables:
        parts.append(f"![{TITLES[name]}]({images}{name}.svg)\n")
    parts.append(f"{NOTES[name]}\n")
    for key, table in tables.items():
        note = NOTES.get(f"{name} {key}") or (f"{table.caption}" if key else "")
        parts += [f"{note}\n"] if note else []
        parts.append(table.markdown())
    return "\n".join(parts)
