"""The base of operators whose gradient is derived by hand."""

from __future__ import annotations

from typing import Any

import torch


class HandDerived(torch.autograd.Function):
    """An autograd function whose backward pass cannot itself be differentiated.

    There is one only where ``benchmarks/operators.py`` shows a gain over plain torch, in time or in memory.
    """

    @staticmethod
    def refuse_second_derivative() -> None:
        """Raise in a backward pass that is differentiated; torch's own check takes as long as a small operator."""
        if torch.is_grad_enabled():
            raise RuntimeError("second derivatives are not supported: call backward() without create_graph")

    @classmethod
    def of(cls, *arguments: Any) -> Any:
        """The value of the function."""
        return cls.apply(*arguments)  # type: ignore[no-untyped-call]
