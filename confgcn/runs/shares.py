"""Shares of the labels to hold out, where a graph has no split of its own."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from confgcn.data.splits import hold_out
from confgcn.exceptions import UsageError
from confgcn.graph import Graph


@dataclass(frozen=True)
class Shares:
    """Shares of the labelled nodes to hold out, for validation and for test, where a graph has no split."""

    validation: float = 0.0
    test: float = 0.0

    def __post_init__(self) -> None:
        for name, share in asdict(self).items():
            if not 0.0 <= share < 1.0:
                raise UsageError(f"{name} share = {share}: expected at least 0 and less than 1, such as 0.2")
        if self.validation + self.test >= 1.0:
            raise UsageError(
                f"validation and test share = {self.validation} + {self.test}: nothing is left to train on"
            )

    @property
    def any(self) -> bool:
        return self.validation + self.test > 0.0


def split_by_shares(graph: Graph, shares: Shares, seed: int) -> Graph:
    """Hold out the shares, unless the graph has a split of its own."""
    if not shares.any:
        return graph
    if len(graph.validation) or len(graph.test):
        raise UsageError(f"{graph.name}: has a split of its own; leave out the shares of validation and test")
    return hold_out(graph, seed=seed, validation=shares.validation, test=shares.test)
