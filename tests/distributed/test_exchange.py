"""The halo exchange between two real workers, on rows small enough to check by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from confgcn.distributed import exchange as module
from confgcn.distributed.exchange import HaloExchange

# Worker 0 owns nodes 0, 2 and 5 and needs node 3; worker 1 owns 1, 3 and 4 and needs 0 and 5.
EXCHANGED = """
own = torch.tensor([[0, 2, 5], [1, 3, 4]][group.rank])
halo_nodes = torch.tensor([[3], [0, 5]][group.rank])
owners = torch.full_like(halo_nodes, 1 - group.rank)
halo = make_exchange(halo_nodes, owners, own)
table = own[:, None] * torch.tensor([[1.0, 10.0]])
first, second = halo.gather(table, table[:, :1])
rows, (sums,) = halo.scatter_add(torch.ones(len(halo_nodes), 2))
found = {
    "gathered": first.tolist(), "second": second.tolist(), "rows": rows.tolist(), "sums": sums.tolist(),
    "total": halo.all_reduce(torch.tensor([1.0 + group.rank])).tolist(), "bytes": halo.bytes_sent,
}
"""


@pytest.fixture(scope="module")
def exchanged(in_two_workers: Callable[[str], list[Any]]) -> list[Any]:
    return in_two_workers(EXCHANGED)


def test_each_worker_gets_the_rows_of_its_halo_nodes(exchanged: list[Any]) -> None:
    assert [found["gathered"] for found in exchanged] == [[[3.0, 30.0]], [[0.0, 0.0], [5.0, 50.0]]]
    assert [found["second"] for found in exchanged] == [[[3.0]], [[0.0], [5.0]]]


def test_each_worker_gets_the_sums_of_what_others_send_back(exchanged: list[Any]) -> None:
    assert [found["rows"] for found in exchanged] == [[0, 2], [1]]  # own rows with copies: nodes 0 and 5, and node 3
    assert [found["sums"] for found in exchanged] == [[[1.0, 1.0], [1.0, 1.0]], [[1.0, 1.0]]]


def test_numbers_are_summed_over_all_workers(exchanged: list[Any]) -> None:
    assert [found["total"] for found in exchanged] == [[3.0], [3.0]]


def test_bytes_are_counted_where_they_are_sent(exchanged: list[Any]) -> None:
    """Rows of three columns to the other worker, and rows of two back, of four bytes each."""
    assert [found["bytes"] for found in exchanged] == [4 * (2 * 3 + 1 * 2), 4 * (1 * 3 + 2 * 2)]


def test_copies_of_one_row_in_several_workers_are_summed_in_one_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker whose row 1 has copies in two others, and whose row 0 has one; messages come back as they were sent."""
    monkeypatch.setattr(module.dist, "all_to_all_single", lambda into, rows, *_: into.copy_(rows))
    halo = HaloExchange(torch.tensor([0, 1, 1]), [0, 2, 1], [0, 2, 1])
    rows, (sums,) = halo.scatter_add(torch.tensor([[1.0], [2.0], [4.0]]))
    assert (rows.tolist(), sums.tolist()) == ([0, 1], [[1.0], [6.0]])
    (gathered,) = halo.gather(torch.tensor([[5.0], [7.0]]))
    assert gathered.tolist() == [[5.0], [7.0], [7.0]]
