"""The base of every operator: torch's autograd function, for a gradient that is derived by hand."""

from __future__ import annotations

from typing import Any

import torch


class HandDerived(torch.autograd.Function):
    """A function whose backward pass cannot itself be differentiated."""

    @staticmethod
    def refuse_second_derivative() -> None:
        """To be called in a backward pass; torch's own guard takes as long as a small operator."""
        if torch.is_grad_enabled():
            raise RuntimeError("second derivatives are not supported: call backward() without create_graph")

    @classmethod
    def of(cls, *arguments: Any) -> Any:
        """The value of the function."""
        return cls.apply(*arguments)  # type: ignore[no-untyped-call]
