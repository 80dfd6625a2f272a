"""The records of a search for settings (``confgcn.runs.search_record``) as sentences, each without a full stop."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from confgcn.report.formatting import Numbers, decimal, listed, percent

INFLUENCES = {"uniform": "", "learned": " with learned influence"}


def search_texts(metrics: Numbers) -> dict[str, str]:
    """The consensus, the influence and the edges of a run, by name; empty for a run of one model."""
    if metrics["search"] is None:
        return {}
    texts = {
        "consensus": consensus_text(metrics["search"], metrics["influence"]),
        "influence": influence_text(metrics["influence"]),
    }
    return texts if metrics["edges"] is None else {**texts, "edges": edges_text(metrics["edges"])}


def consensus_text(candidates: Sequence[Numbers], influence: Numbers) -> str:
    """Which candidates were chosen, their shares and the log loss of their consensus."""
    chosen = sorted((each for each in candidates if each["share"]), key=lambda each: -each["share"])
    names = listed([f"{candidate_name(each)} ({percent(each['share'], 0)} %)" for each in chosen])
    loss = decimal(influence["log_loss"], 3)
    return f"{names}, of {len(candidates)} candidates; log loss {loss} on held-out labels"


def candidate_name(candidate: Numbers) -> str:
    """The name of a candidate and its influence."""
    return f"{candidate['candidate']}{INFLUENCES[candidate['influence']]}"


def influence_text(record: Numbers) -> str:
    """Whether learned influence was chosen."""
    if not record["tried"]:
        return "uniform; learned influence was not tried"
    if not record["learned_share"]:
        return "uniform; learned influence did not clearly lower the held-out log loss"
    losses = f"{decimal(record['log_loss'], 3)}, and {decimal(record['log_loss_uniform'], 3)} with uniform influence"
    return f"learned in {percent(record['learned_share'], 0)} % of the consensus; held-out log loss {losses}"


def edges_text(record: Numbers) -> str:
    """Whether edges help, oppose or say nothing."""
    without = decimal(record["log_loss_without"], 3)
    losses = f"log loss {decimal(record['log_loss_with'], 3)} with edges, {without} with features alone"
    evidence = f"{losses}, on {record['held_out_labels']:,} held-out labels"
    texts = {
        "help": f"help: neighbours tend to have equal labels ({evidence})",
        "oppose": f"oppose: neighbours tend to have different labels, which the model uses ({evidence})",
        "nothing": f"say nothing: they do not clearly improve on the features alone ({evidence})",
    }
    return texts[record["code"]]


def search_facts(metrics: Numbers) -> dict[str, Any]:
    """The same in a few values, for the summary of a run."""
    if metrics.get("search") is None:
        return {}
    names = [f"{candidate_name(each)} {percent(each['share'], 0)} %" for each in metrics["search"] if each["share"]]
    facts = {"consensus": ", ".join(names), "learned_influence": round(metrics["influence"]["learned_share"], 4)}
    return facts if metrics["edges"] is None else {**facts, "edges": metrics["edges"]["code"]}


def search_section(metrics: Numbers) -> dict[str, Any] | None:
    """The section of the report: sentences, and the candidates, lowest log loss first; None for a run of one model."""
    if metrics["search"] is None:
        return None
    titles = {"consensus": "Consensus", "influence": "Influence", "edges": "Edges"}
    highest = max(each["log_loss"] for each in metrics["search"]) or 1.0
    return {
        "sentences": [(titles[name], text) for name, text in search_texts(metrics).items()],
        "candidates": [
            {
                "name": each["candidate"],
                "influence": each["influence"],
                "settings": ", ".join(f"{name} = {value}" for name, value in each["settings"].items()),
                "log_loss": decimal(each["log_loss"], 3),
                "bar": round(100 * each["log_loss"] / highest, 1),
                "share": f"{percent(each['share'], 0)} %" if each["share"] else "",
            }
            for each in sorted(metrics["search"], key=lambda each: float(each["log_loss"]))
        ],
    }
