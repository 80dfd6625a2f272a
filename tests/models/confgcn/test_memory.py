"""Memory grows with edges and not with the highest degree: a star trains in the memory of a path."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

STATUS = Path("/proc/self/status")
EDGES = 200_000
STEP = f"""
import sys
from pathlib import Path
import numpy as np
from confgcn.graph import Graph
from confgcn.models.base import Shape
from confgcn.models.confgcn.paper import PaperConfGCN

def peak():  # in kilobytes; ru_maxrss will not do, since it starts from what the parent process had
    return int(Path("{STATUS}").read_text().split("VmHWM:")[1].split()[0])

last = np.arange(1, {EDGES} + 1)
first = np.zeros_like(last) if sys.argv[1] == "star" else last - 1
graph = Graph.build(np.stack([first, last], 1), np.ones(({EDGES} + 1, 4)), np.arange({EDGES} + 1) % 3, train=[0, 1, 2])
before = peak()
method = PaperConfGCN(Shape.of(graph))
sum(term.value() for term in method.loss_terms(graph, method(graph)).values()).backward()
print(peak() - before)
"""


def kilobytes_of_a_step(shape: str, kernels: str) -> int:
    words, environment = [sys.executable, "-c", STEP, shape], {**os.environ, "CONFGCN_KERNELS": kernels}
    return int(subprocess.run(words, capture_output=True, text=True, check=True, env=environment).stdout)


@pytest.mark.slow
@pytest.mark.skipif(not STATUS.is_file(), reason=f"there is no {STATUS} to read the peak from")
def test_a_hub_costs_no_more_than_a_path(each_kernels: str) -> None:
    star, path = (kilobytes_of_a_step(shape, each_kernels) for shape in ("star", "path"))
    assert path > 10_000
    assert star < 2 * path
