"""Memory grows with edges and not with the highest degree: a star trains in the memory of a path."""

from __future__ import annotations

import subprocess
import sys

EDGES = 200_000
STEP = f"""
import resource, sys
import numpy as np
from confgcn.graph import Graph
from confgcn.method import Shape
from confgcn.model.network import ConfGCN

last = np.arange(1, {EDGES} + 1)
first = np.zeros_like(last) if sys.argv[1] == "star" else last - 1
graph = Graph.build(np.stack([first, last], 1), np.ones(({EDGES} + 1, 4)), np.arange({EDGES} + 1) % 3, train=[0, 1, 2])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
method = ConfGCN(Shape.of(graph))
sum(term.value() for term in method.loss_terms(graph, method(graph)).values()).backward()
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def kilobytes_of_a_step(shape: str) -> int:
    return int(subprocess.run([sys.executable, "-c", STEP, shape], capture_output=True, text=True, check=True).stdout)


def test_a_hub_costs_no_more_than_a_path() -> None:
    star, path = kilobytes_of_a_step("star"), kilobytes_of_a_step("path")
    assert path > 10_000
    assert star < 2 * path
