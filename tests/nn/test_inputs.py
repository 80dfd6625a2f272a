"""Wrong arguments of the module: errors name the argument, what was expected and what came."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
import torch
from torch import Tensor

from confgcn.exceptions import DataError, UsageError

with warnings.catch_warnings(action="ignore", category=DeprecationWarning):  # torch.jit, which PyG still uses
    from confgcn.nn import ConsensusConfGCN

X = torch.eye(2).repeat(3, 1)
EDGE_INDEX = torch.tensor([[0, 1, 1, 2, 2, 3, 3, 4, 4, 5], [1, 0, 2, 1, 3, 2, 4, 3, 5, 4]])  # a path
Y, MASK = torch.zeros(6, dtype=torch.long), torch.ones(6, dtype=torch.bool)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((X[:, :1], EDGE_INDEX), r"x: expected shape \(nodes, 2\), got \(6, 1\)"),
        ((X.long(), EDGE_INDEX), "expected finite floats, got torch.int64"),
        ((X * float("nan"), EDGE_INDEX), "x: expected finite floats, got a number that is not finite"),
        ((X[:5], EDGE_INDEX), "expected 6 rows, one per node, got 5; pass node_ids"),
        ((X, EDGE_INDEX.T), r"shape \(2, edges\), got \(10, 2\)"),
        ((X, EDGE_INDEX.float()), "expected whole numbers"),
        ((X, EDGE_INDEX + 1), "numbered 0 to 5, the rows of x; got 1 to 6"),
        ((X, EDGE_INDEX - 1), "got -1 to 4"),
        ((X, [[0], [1]]), r"tensor of shape \(2, edges\), got list"),
        ((X, EDGE_INDEX, torch.tensor([0, 1])), r"node_ids: expected torch.int64 of shape \(6,\)"),
        ((X, EDGE_INDEX, torch.arange(6) + 1), "node_ids: expected 0 to 5, got 1 to 6"),
    ],
)
def test_wrong_inputs_are_named(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(DataError, match=message):
        ConsensusConfGCN(2, 4, 2, num_nodes=6)(*arguments)


@pytest.mark.parametrize(
    ("y", "mask", "message"),
    [
        (Y - 1, MASK, "y of training nodes: expected 0 to 1, got -1 to -1"),
        (Y - 100, MASK, "got -100"),
        (Y + 2, MASK, "got 2 to 2"),
        (Y.float(), MASK, "whole numbers"),
        (Y[:3], MASK, r"expected 6 whole numbers, got torch.int64 of shape \(3,\)"),
        (Y, ~MASK, "train_mask: selects no node"),
        (Y, MASK.long(), "train_mask: expected torch.bool"),
    ],
)
def test_wrong_labels_are_named(y: Tensor, mask: Tensor, message: str) -> None:
    module = ConsensusConfGCN(2, 4, 2, num_nodes=6)
    with pytest.raises(DataError, match=message):
        module.loss(module(X, EDGE_INDEX), y, mask, EDGE_INDEX)


@pytest.mark.parametrize(
    "settings",
    [{"dropout": 1.0}, {"hidden_channels": 0}, {"steps": 0}, {"gamma": 0.0}, {"lambda_reg": -1.0}, {"out_channels": 1}],
    ids=str,
)
def test_settings_out_of_range_are_named(settings: dict[str, Any]) -> None:
    ((name, _),) = settings.items()
    with pytest.raises(UsageError, match=f"{name} = .*greater|{name} = .*less"):
        ConsensusConfGCN(**{"in_channels": 2, "hidden_channels": 4, "out_channels": 2, "num_nodes": 6, **settings})


def test_unknown_options_are_refused() -> None:
    with pytest.raises(UsageError, match="unknown option 'step': did you mean 'steps'"):
        ConsensusConfGCN(2, 4, 2, num_nodes=6, step=3)
