"""The compiled kernels read tensors of any strides."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from confgcn.kernels import compiled, library
from confgcn.sparse import SparseStructure

pytestmark = pytest.mark.skipif(not library.available(), reason=library.why_not())

ROWS = SparseStructure(torch.tensor([0, 2, 3, 4]), torch.tensor([0, 1, 1, 0]), (3, 3))


def scattered(values: Tensor) -> Tensor:
    """The same numbers, with gaps between them."""
    apart = values.new_full((*values.shape, 2), float("nan"))
    apart[..., 0] = values
    return apart[..., 0]


@pytest.mark.parametrize(
    ("function", "shapes"),
    [
        ("edge_distance", [(11, 3), (11, 3)]),
        ("edge_distance_gradient", [(11, 3), (11, 3), ("entries",)]),
        ("softmax", [("entries", 3)]),
        ("softmax_gradient", [("entries", 3), ("entries", 3)]),
        ("sum_rows", [("entries",)]),
        ("multiply", [("entries", 3), (11, 3, 5)]),
        ("multiply_transposed", [("entries",), (11, 5)]),
        ("entry_products", [(11, 5), (11, 5)]),
    ],
)
def test_numbers_may_lie_apart(adjacency: SparseStructure, function: str, shapes: list[tuple[Any, ...]]) -> None:
    sizes = [[adjacency.num_entries if size == "entries" else size for size in shape] for shape in shapes]
    numbers = [torch.randn(*shape) for shape in sizes]
    assert not any(scattered(each).is_contiguous() for each in numbers if each.numel())
    call = getattr(compiled, function)
    torch.testing.assert_close(call(adjacency, *map(scattered, numbers)), call(adjacency, *numbers), rtol=0, atol=0)


def test_numbers_of_dense_functions_may_lie_apart() -> None:
    one, other = torch.randn(2, 7, 5)
    apart = scattered(one)
    assert torch.equal(compiled.dense_softmax(apart), compiled.dense_softmax(one))
    ours, theirs = (compiled.dense_softmax_gradient(*pair) for pair in ((apart, scattered(other)), (one, other)))
    assert torch.equal(ours, theirs)
    assert torch.equal(compiled.drop(apart, 3, 0, 30_000, 2.0), compiled.drop(one, 3, 0, 30_000, 2.0))
    assert compiled.all_finite(apart)  # the gaps are not


def test_numbers_of_rows_may_lie_apart() -> None:
    values, weights = torch.rand(4), torch.rand(2, 3)
    rows = (
        compiled.propagation_rows(ROWS, v, [0.5, 0.5], range(3), width=2, kept=2) for v in (values, scattered(values))
    )
    torch.testing.assert_close(*rows, rtol=0, atol=0)
    chosen = torch.tensor([[0, 1], [2, 0], [1, 1]], dtype=torch.int32).T
    sums = (
        compiled.sum_feature_rows(ROWS, values, n, w)
        for n, w in ((chosen, scattered(weights)), (chosen.contiguous(), weights))
    )
    torch.testing.assert_close(*sums, rtol=0, atol=0)


WITHOUT_MEMORY = """
import resource, torch
from confgcn.kernels import compiled
from confgcn.sparse import SparseStructure
count = 20_000_000  # the buffers of a walk over as many nodes take 400 MB
structure = SparseStructure(torch.zeros(count + 1, dtype=torch.long), torch.empty(0, dtype=torch.long), (count, count))
compiled.sum_rows(structure, torch.empty(0))
used = int(open("/proc/self/statm").read().split()[5]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_DATA, (used + 200_000_000,) * 2)
try:
    compiled.propagation_rows(structure, torch.empty(0), [1.0], range(3), width=2, kept=2)
except MemoryError as error:
    print(error)
"""


@pytest.mark.skipif(not Path("/proc/self/statm").is_file(), reason="the use of memory is read from /proc")
def test_too_little_memory_for_rows_is_an_error_that_can_be_caught() -> None:
    result = subprocess.run([sys.executable, "-c", WITHOUT_MEMORY], capture_output=True, text=True)
    assert (result.stdout, result.stderr) == ("for the propagation rows of 3 nodes\n", "")
