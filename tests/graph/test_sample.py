"""A sample follows its graph to another device."""

from __future__ import annotations

import torch

from confgcn.graph import Sample


def test_moving_a_sample_moves_its_tensor_and_keeps_its_numbers() -> None:
    sample = Sample(batch_size=2, labelled=torch.tensor([0, 3]), num_nodes=7, num_train=4)
    moved = sample.to(torch.device("meta"))
    assert moved.labelled.device.type == "meta"
    assert moved.labelled.shape == (2,)
    assert (moved.batch_size, moved.num_nodes, moved.num_train) == (2, 7, 4)
