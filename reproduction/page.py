"""The results page: protocol, claims, tables and pictures. Every number on it comes from the results."""

from __future__ import annotations

from collections.abc import Mapping

from reproduction.artefacts import ARTEFACTS, Artefact
from reproduction.formatting import Numbers, listed

Report = Mapping[str, Numbers]


def page(report: Report, *, images: str = "") -> str:
    """Markdown, with pictures from the folder ``images``."""
    shown = [artefact for name, artefact in ARTEFACTS.items() if name in report]
    sections = [_section(artefact, report[artefact.name], images) for artefact in shown]
    return "\n".join([_head(report), _summary(report), *sections])


def protocol(report: Report) -> str:
    """The number of runs, their dates, seeds and environments."""
    about = report["about"]
    if not about["runs"]:
        return "No runs."
    dates = " to ".join(dict.fromkeys(about["dates"]))
    machines = listed([_machine(environment) for environment in about["environments"]])
    return f"{about['runs']:,} runs, {dates}, {_seeds(report)}, on {machines}."


def _head(report: Report) -> str:
    return (
        "# Reproduction of the paper\n\n"
        "This page is written by `confgcn reproduce` from the settings and results in this repository. "
        f"{protocol(report)} Accuracies are test accuracies at the epoch that the preset's rule selects on the "
        "validation nodes, as mean ± sample standard deviation over seeds. On cora_ml every seed draws its own split. "
        "A run has diverged if it reached a number that is not finite; means exclude diverged runs.\n"
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
    checks = [check for name, row in ARTEFACTS.items() if name in report for check in row.check_claims(report[name])]
    lines = [f"| {check.claim} | {check.outcome} |" for check in checks]
    rule = (
        "A claim holds if it is true in every case and on every data set shown, and in part if it is true in some. One "
        "value is above another if the confidence interval of their paired difference excludes zero. The interval is "
        "the percentile bootstrap interval of the mean over seeds: it describes the variation over initialisations (on "
        "cora_ml also over splits), not over other test nodes.\n"
    )
    return "\n".join(["## Summary", "", "| claim of the paper | here |", "|---|---|", *lines, "", rule])


def _section(artefact: Artefact, numbers: Numbers, images: str) -> str:
    blocks = [f"## {artefact.title}\n", *(check.markdown() for check in artefact.check_claims(numbers))]
    tables = artefact.tables(numbers)
    if artefact.draw is not None and tables:
        blocks.append(f"![{artefact.title}]({images}{artefact.name}.svg)\n")
    blocks.append(f"{artefact.note}\n")
    for table in tables.values():
        blocks += [f"{table.caption}\n", table.markdown()]
    return "\n".join(blocks)
