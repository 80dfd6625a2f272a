"""Plans: trainings of many kinds, each followed by commands that use the run."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from random import Random

from torch import Tensor

from confgcn.data.synthetic import block_model

NODES, NEW = 120, 10
METHODS = (  # and presets
    *(("confgcn", preset) for preset in ("default", "consensus", "paper", "released")),
    *((name, "default") for name in ("gcn", "gat", "feat", "ggnn", "semi_emb", "gated_gcn", "mani_reg")),
    *((name, "default") for name in ("label_propagation", "taco", "planetoid", "gpnn")),
)
CROSS_FITTED, INDUCTIVE = 10, 11  # the first so many hold labels out in turn, and predict new nodes
ON_TABLES = {  # parts of the labels
    "cross-fitted": (),
    "validated": ("--validation", "0.3", "--test", "0.2"),
}


@dataclass(frozen=True)
class Plan:
    """The words of a training, and of the commands that follow it; ``run`` is the directory of one seed."""

    train: tuple[str, ...]
    run: Path
    then: tuple[tuple[str, ...], ...]
    seconds_between_saves: float

    @property
    def commands(self) -> list[tuple[str, ...]]:
        """All of them, in their order."""
        return [self.train, *self.then]


def draw(random: Random) -> Plan:
    """A graph, a method, a seed, a number of epochs, and how often they are saved."""
    graph = random.choice(["demo", "cross-fitted", "validated"])
    place = random.randrange(CROSS_FITTED if graph == "cross-fitted" else len(METHODS))
    method, preset = METHODS[place]
    seed, seeds = random.randrange(1000), random.choice([1, 1, 2])
    words = ["train", *(["demo"] if graph == "demo" else ["graph", "--label", "team", *ON_TABLES[graph]])]
    words += ["--method", method, "--preset", preset, "--seed", str(seed), "--seeds", str(seeds), "--out", "run"]
    words += ["--epochs", str(random.randint(5, 25))]
    run = Path("run") if seeds == 1 else Path("run") / f"seed-{seed + random.randrange(seeds)}"
    new = ["--edges", "new_edges.csv", "--nodes", "new_nodes.csv"] if graph != "demo" and place < INDUCTIVE else []
    then = (
        ("report", str(run)),
        ("evaluate", str(run)),
        ("predict", str(run), *new, "--out", "predicted.csv", "--overwrite"),
    )
    return Plan(tuple(words), run, then, random.choice([0.0, 0.02, 5.0]))


def write_graph(folder: Path) -> None:
    """Tables of nodes, a third of them labelled, and edges; the last nodes come later, in tables of their own."""
    graph = block_model(NODES, seed=1, num_features=6)
    assert isinstance(graph.features, Tensor)
    header = ["id", "team", *(f"x{column}" for column in range(graph.num_features))]
    teams = ("red", "green", "blue", "white")
    rows = [
        [f"n{node}", teams[int(graph.labels[node])] if node % 3 == 0 else "", *features]
        for node, features in enumerate(graph.features.tolist())
    ]
    ends = list(zip(graph.neighbours.rows.tolist(), graph.neighbours.indices.tolist(), strict=True))
    old, new = ([pair for pair in ends if (max(pair) >= NODES - NEW) is later] for later in (False, True))
    _write(folder / "graph" / "nodes.csv", header, rows[:-NEW])
    _write(folder / "graph" / "edges.csv", ["source", "target"], [(f"n{a}", f"n{b}") for a, b in old])
    _write(folder / "new_nodes.csv", header, rows[-NEW:])
    _write(folder / "new_edges.csv", ["source", "target"], [(f"n{a}", f"n{b}") for a, b in new])


def _write(path: Path, header: list[str], rows: Iterable[Iterable[object]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as stream:
        csv.writer(stream).writerows([header, *rows])
