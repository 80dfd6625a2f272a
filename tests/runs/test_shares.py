"""Shares of the labels are held out where a graph has no split of its own."""

from __future__ import annotations

from dataclasses import replace

import pytest

from confgcn.data.raw import raw_from_graph
from confgcn.exceptions import UsageError
from confgcn.graph import Graph
from confgcn.runs.graph_source import GivenGraph
from confgcn.runs.shares import Shares


def test_shares_are_drawn_by_the_split_seed_and_checked(small_graph: Graph) -> None:
    raw = raw_from_graph(small_graph)

    source = GivenGraph(replace(raw, split=None).build(), Shares(validation=0.2, test=0.2))
    assert source.draws_split
    assert source.load(0).test.tolist() == source.load(0).test.tolist() != source.load(1).test.tolist()
    with pytest.raises(UsageError, match="a split of its own"):
        GivenGraph(small_graph, Shares(test=0.2)).load(0)
    for wrong in ({"test": 1.0}, {"validation": -0.1}, {"validation": 0.6, "test": 0.4}):
        with pytest.raises(UsageError, match="share"):
            Shares(**wrong)
