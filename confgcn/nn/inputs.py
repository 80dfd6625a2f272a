"""Checks of the arguments of a module; errors name the argument."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, get_type_hints

import torch
from pydantic import Field, TypeAdapter, ValidationError
from torch import Tensor

from confgcn.exceptions import DataError, UsageError, check_choice

NumClasses = Annotated[int, Field(ge=2, le=65_536)]


def check_ranges(constructor: Callable[..., None], options: dict[str, Any]) -> None:
    """Check options against the annotations of the constructor."""
    hints = get_type_hints(constructor, include_extras=True)
    for name, value in options.items():
        check_choice("option", name, hints)
        try:
            TypeAdapter(hints[name]).validate_python(value, strict=True)
        except ValidationError as error:
            raise UsageError(f"{name} = {value!r}: {error.errors()[0]['msg']}") from None


def check_features(x: Tensor, in_channels: int) -> None:
    """Check for finite floats and ``in_channels`` columns."""
    if x.device.type != "cpu":
        raise UsageError(f"x: this module computes on the CPU, got a tensor on {x.device}")
    if x.dim() != 2 or x.shape[1] != in_channels:
        raise DataError(f"x: expected shape (nodes, {in_channels}), got {tuple(x.shape)}")
    if not x.is_floating_point() or not x.isfinite().all():
        got = "a number that is not finite" if x.is_floating_point() else x.dtype
        raise DataError(f"x: expected finite floats, got {got}")


def checked_node_ids(num_rows: int, node_ids: Tensor | None, num_nodes: int) -> Tensor:
    """The row of each node in tables of per-node parameters, (N,)."""
    if node_ids is None:
        if num_rows != num_nodes:
            raise DataError(
                f"expected {num_nodes} rows, one per node, got {num_rows}; pass node_ids to tell which nodes they are"
            )
        return torch.arange(num_nodes)
    if node_ids.shape != (num_rows,) or node_ids.dtype != torch.long:
        got = f"{node_ids.dtype} of shape {tuple(node_ids.shape)}"
        raise DataError(f"node_ids: expected torch.int64 of shape ({num_rows},), one per row, got {got}")
    _check_between("node_ids", node_ids, num_nodes)
    return node_ids


def training_nodes(train_mask: Tensor, num_nodes: int) -> Tensor:
    """The positions at which the mask is true."""
    if train_mask.dtype != torch.bool or train_mask.shape != (num_nodes,):
        got = f"{train_mask.dtype} of shape {tuple(train_mask.shape)}"
        raise DataError(f"train_mask: expected torch.bool of shape ({num_nodes},), got {got}")
    if not train_mask.any():
        raise DataError("train_mask: selects no node")
    return train_mask.nonzero().squeeze(1)


def training_labels(y: Tensor, train: Tensor, num_nodes: int, num_classes: int) -> Tensor:
    """The labels of the training nodes; other labels are not read and are -1, (N,)."""
    if y.numel() != num_nodes or y.is_floating_point():
        raise DataError(f"y: expected {num_nodes} whole numbers, got {y.dtype} of shape {tuple(y.shape)}")
    labels = y.reshape(-1).index_select(0, train).long()
    _check_between("y of training nodes", labels, num_classes)
    return torch.full((num_nodes,), -1).index_copy_(0, train, labels)


def _check_between(name: str, numbers: Tensor, limit: int) -> None:
    if numbers.numel() and not 0 <= int(numbers.min()) <= int(numbers.max()) < limit:
        raise DataError(f"{name}: expected 0 to {limit - 1}, got {int(numbers.min())} to {int(numbers.max())}")
