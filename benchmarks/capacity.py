"""An estimate of machines and time for a graph too large for one machine, from the measurements of workers.py.

Time and memory of a step are modelled as linear in the number of nodes and of entries of the adjacency (both directions
of an edge, and one self loop per node). The coefficients come from three measurements of workers.py: two sizes with the
same number of edges per node, and one with twice as many. The bytes sent are proportional to the borrowed rows.
"""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import Any

from recorded import read, table

SMALL, LARGE = 100_000, 1_000_000
PRESETS = ("released", "consensus")
GB = 1e9
PLANNED_NODES, PLANNED_EDGES = 1e8, 1e9
PLANNED_CUTS = (0.01, 0.05, 0.2)
EPOCHS = 200
# Bytes in the first process when it evaluates the whole graph: per node and class (logits, mu, precision, probabilities
# and set scores in double precision, the sets), per node (its name), and per entry (two structures, positions, rows,
# influence). Before that it holds the features, original and scaled.
FIRST_CLASS, FIRST_NODE, FIRST_ENTRY = 29, 64, 36
Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Shares:
    """Coefficients of one preset: of the program, a node, an entry and a borrowed row."""

    program_bytes: float
    node_bytes: float
    entry_bytes: float
    node_seconds: float
    entry_seconds: float
    borrowed_bytes: float


@dataclass(frozen=True)
class Machines:
    """Assumptions about each machine and the graph."""

    cores: int = 32
    memory: float = 256 * GB
    usable: float = 0.8  # share of the memory for training
    network: float = 25e9 / 8 * 0.7  # bytes per second: 25 Gbit/s, of which messages reach 70 %
    side_by_side: float = 0.45  # speed of a core while all others compute, to one alone: measured with two workers
    features: int = 128
    classes: int = 40


@dataclass(frozen=True)
class Plan:
    """The estimate for one share of edges between machines (``cut``)."""

    cut: float
    machines: int
    gigabytes: float  # per machine
    compute: float  # seconds per step
    exchange: float
    sent: float  # gigabytes per machine and step
    first: float  # gigabytes of the first process when it evaluates the whole graph

    def hours(self, epochs: int) -> float:
        """The duration of a training."""
        return epochs * (self.compute + self.exchange) / 3600


def shares_of(rows: Rows, preset: str) -> Shares:
    """Solve for the coefficients; negative ones, which are noise, count as zero."""
    single = {"preset": preset, "workers": 1, "threads": 1}
    small, large, dense = (
        _medians(rows, {"what": what, "nodes": nodes, **single})
        for what, nodes in (("step", SMALL), ("step", LARGE), ("density", SMALL))
    )
    found = {}
    for name in ("peak", "seconds"):
        entry = max(0.0, (dense[name] - small[name]) / (dense["entries"] - small["entries"]))
        node = (large[name] - small[name] - entry * (large["entries"] - small["entries"])) / (LARGE - SMALL)
        found[name] = (max(0.0, node), entry)
    program = small["peak"] - found["peak"][0] * SMALL - found["peak"][1] * small["entries"]
    workers = _medians(rows, {"what": "step", "nodes": LARGE, "preset": preset, "workers": 2, "by": "hash"})
    borrowed = workers["bytes_per_step"] / workers["borrowed"]
    return Shares(program, *found["peak"], *found["seconds"], borrowed)


def plan(shares: Shares, nodes: float, edges: float, cut: float, with_: Machines | None = None) -> Plan:
    """The number of machines and the seconds per step for a graph of which a share of the edges is cut.

    At worst every cut edge borrows its own row; no machine borrows more rows than the nodes it does not have.
    """
    machine = with_ or Machines()
    entries = 2 * edges + nodes
    number = 1
    while _bytes_of(shares, nodes, entries, cut, number, machine) > machine.usable * machine.memory:
        number += 1
    borrowed = _borrowed(nodes, entries, cut, number)
    sent = borrowed * shares.borrowed_bytes
    work = (shares.node_seconds * nodes + shares.entry_seconds * entries) / number
    first = nodes * max(8 * machine.features, FIRST_CLASS * machine.classes + FIRST_NODE) + FIRST_ENTRY * entries
    first += shares.program_bytes * machine.cores + 8 * machine.classes * nodes / number  # of the waiting workers
    return Plan(
        cut,
        number,
        _bytes_of(shares, nodes, entries, cut, number, machine) / GB,
        work / (machine.cores * machine.side_by_side),
        sent / machine.network,
        sent / GB,
        first / GB,
    )


def _borrowed(nodes: float, entries: float, cut: float, number: int) -> float:
    return 0.0 if number == 1 else min(cut * entries / number, nodes * (number - 1) / number)


def _bytes_of(shares: Shares, nodes: float, entries: float, cut: float, number: int, machine: Machines) -> float:
    own = (shares.node_bytes * nodes + shares.entry_bytes * entries) / number
    return (
        own + shares.program_bytes * machine.cores + 2 * shares.borrowed_bytes * _borrowed(nodes, entries, cut, number)
    )


def _medians(rows: Rows, wanted: dict[str, Any]) -> dict[str, float]:
    chosen = [row for row in rows if all(row.get(name) == value for name, value in wanted.items())]
    names = ("peak", "seconds", "entries", "bytes_per_step", "borrowed")
    return {name: statistics.median(row[name] for row in chosen) for name in names}


def blocks() -> dict[str, str]:
    """The tables, by the name of their place in the documents."""
    rows = read("workers")
    return {"shares": shares_table(rows), "plan": plan_table(rows)}


def shares_table(rows: Rows) -> str:
    """Bytes and seconds of a node, an entry and a borrowed row."""
    titles = {
        "program_bytes": ("program, MB", 1e6),
        "node_bytes": ("per node, bytes", 1.0),
        "entry_bytes": ("per entry, bytes", 1.0),
        "node_seconds": ("per node and step, µs", 1e-6),
        "entry_seconds": ("per entry and step, µs", 1e-6),
        "borrowed_bytes": ("sent per borrowed row and step, bytes", 1.0),
    }
    shares = {preset: shares_of(rows, preset) for preset in PRESETS}
    lines = [[title, *(_number(shares[p], name, unit) for p in PRESETS)] for name, (title, unit) in titles.items()]
    return table(["", *(f"`{preset}`" for preset in PRESETS)], lines)


def plan_table(rows: Rows) -> str:
    """The estimate for every preset and share of cut edges."""
    lines = []
    for preset in PRESETS:
        shares = shares_of(rows, preset)
        lines += [_planned(preset, plan(shares, PLANNED_NODES, PLANNED_EDGES, cut)) for cut in PLANNED_CUTS]
    head = ["preset", "edges cut", "machines", "GB each", "GB sent per step, each", "s computing", "s sending"]
    return table([*head, f"hours, {EPOCHS} epochs", "GB of the first process at the end"], lines)


def _planned(preset: str, found: Plan) -> list[str]:
    numbers = [f"{found.gigabytes:.0f}", f"{found.sent:.1f}", f"{found.compute:.1f}", f"{found.exchange:.1f}"]
    return [
        f"`{preset}`",
        f"{100 * found.cut:.0f} %",
        str(found.machines),
        *numbers,
        f"{found.hours(EPOCHS):.1f}",
        f"{found.first:.0f}",
    ]


def _number(shares: Shares, name: str, unit: float) -> str:
    value = getattr(shares, name) / unit
    return f"{value:.2f}" if value < 10 else f"{value:,.0f}"
