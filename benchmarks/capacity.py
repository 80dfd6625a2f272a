"""From measured bytes and seconds to a plan for a graph that outgrows a machine: what docs/benchmarks.md says.

A step takes a node's share for every node and an entry's share for every entry of the adjacency (both directions of an
edge, and one self loop a node). The shares come from three measurements of workers.py: two sizes with the same number
of edges a node, and one with twice as many. What is sent goes with the rows that are borrowed.
"""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import Any

SMALL, LARGE = 100_000, 1_000_000
PRESETS = ("released", "consensus")
GB = 1e9
# Bytes in the first process when the whole is judged: of a node and class (logits, mu, precision, probabilities and
# scores of sets in double precision, the sets), of a node (its name), and of an entry (two structures, places, rows,
# influence). Before that it holds the features, as they were and as they are used.
FIRST_CLASS, FIRST_NODE, FIRST_ENTRY = 29, 64, 36
Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Shares:
    """Of one preset: what the program takes by itself, a node, an entry and a borrowed row."""

    program_bytes: float
    node_bytes: float
    entry_bytes: float
    node_seconds: float
    entry_seconds: float
    borrowed_bytes: float


@dataclass(frozen=True)
class Machines:
    """What the plan assumes of each, and of the graph."""

    cores: int = 32
    memory: float = 256 * GB
    usable: float = 0.8  # share of the memory that training may take
    network: float = 25e9 / 8 * 0.7  # bytes a second: 25 Gbit/s, of which messages reach seven tenths
    side_by_side: float = 0.45  # what a core does of its work alone, while all others compute too: that of two workers
    features: int = 128
    classes: int = 40


@dataclass(frozen=True)
class Plan:
    """For one cut: share of the edges between machines."""

    cut: float
    machines: int
    gigabytes: float  # a machine
    compute: float  # seconds a step
    exchange: float
    sent: float  # gigabytes a machine and step
    first: float  # gigabytes of the first process when the whole is judged

    def hours(self, epochs: int) -> float:
        return epochs * (self.compute + self.exchange) / 3600


def shares_of(rows: Rows, preset: str) -> Shares:
    """Solve for what a node and an entry take; less than nothing, which only noise can give, counts as nothing."""
    alone = {"preset": preset, "workers": 1, "threads": 1}
    small, large, dense = (
        _medians(rows, {"what": what, "nodes": nodes, **alone})
        for what, nodes in (("step", SMALL), ("step", LARGE), ("density", SMALL))
    )
    found = {}
    for name in ("peak", "seconds"):
        entry = max(0.0, (dense[name] - small[name]) / (dense["entries"] - small["entries"]))
        node = (large[name] - small[name] - entry * (large["entries"] - small["entries"])) / (LARGE - SMALL)
        found[name] = (max(0.0, node), entry)
    program = small["peak"] - found["peak"][0] * SMALL - found["peak"][1] * small["entries"]
    parts = _medians(rows, {"what": "step", "nodes": LARGE, "preset": preset, "workers": 2, "by": "hash"})
    borrowed = parts["bytes_per_step"] / parts["borrowed"]
    return Shares(program, *found["peak"], *found["seconds"], borrowed)


def plan(shares: Shares, nodes: float, edges: float, cut: float, with_: Machines | None = None) -> Plan:
    """Machines, and seconds of a step, for so many nodes and undirected edges of which a share is cut.

    At worst every cut edge borrows a row of its own; no machine borrows more than the nodes it does not have.
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
    first += shares.program_bytes * machine.cores + 8 * machine.classes * nodes / number  # the others wait beside it
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
