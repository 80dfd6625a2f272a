"""The page of results: protocol, verdicts, tables, pictures. Every number on it comes from the results."""

from __future__ import annotations

from collections.abc import Mapping

from confgcn.report.formatting import Numbers, listed
from reproduction.render import PARTS, Part

Report = Mapping[str, Numbers]


def page(report: Report, *, images: str = "") -> str:
    """Markdown, with pictures taken from the folder ``images``."""
    shown = {name: part for name, part in PARTS.items() if name in report}
    sections = [_section(name, part, report[name], images) for name, part in shown.items()]
    return "\n".join([_head(report), _summary(report), *sections])


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
        "Made by `confgcn reproduce` from the settings in this repository; nothing on this page is typed by hand. "
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
    verdicts = [verdict for name, part in PARTS.items() if name in report for verdict in part.verdicts(report[name])]
    lines = [f"| {verdict.claim} | {verdict.finding} |" for verdict in verdicts]
    rule = (
        "A claim holds where it is true in every case that it is put to, on every data set shown, and in part where it "
        "is true in some. One thing is above another where the interval of their paired difference leaves zero out: "
        "the percentile interval of the mean over resampled seeds. It says how steady a difference is over "
        "initialisations, on cora_ml over splits too, and nothing about other test nodes.\n"
    )
    return "\n".join(["## In short", "", "| the paper says | here it |", "|---|---|", *lines, "", rule])


def _section(name: str, part: Part, numbers: Numbers, images: str) -> str:
    parts = [f"## {part.title}\n", *(verdict.markdown() for verdict in part.verdicts(numbers))]
    tables = part.tables(numbers)
    if part.draw is not None and tables:
        parts.append(f"![{part.title}]({images}{name}.svg)\n")
    parts.append(f"{part.note}\n")
    for table in tables.values():
        parts += [f"{table.caption}\n", table.markdown()]
    return "\n".join(parts)
