"""The number of threads within a block, and the caller's after it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from threadpoolctl import threadpool_info

from confgcn.io.threads import computing_with


@pytest.fixture(autouse=True)
def callers_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    yield
    torch.set_num_threads(before)


def blas_threads() -> list[int]:
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


def test_torch_and_blas_use_so_many_threads_within() -> None:
    before = blas_threads()
    with computing_with(1):
        assert torch.get_num_threads() == 1
        assert set(blas_threads()) <= {1}
    assert (torch.get_num_threads(), blas_threads()) == (3, before)


def test_the_callers_number_is_restored_after_an_error() -> None:
    with pytest.raises(ZeroDivisionError), computing_with(2):
        raise ZeroDivisionError
    assert torch.get_num_threads() == 3
