"""DGL graphs, by an object with the attributes that are read: DGL itself is not needed."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from confgcn.data.formats.objects.dgl import FORMAT, from_dgl
from confgcn.data.formats.objects.node_data import NodeData
from confgcn.exceptions import DataError


class PathOfThree:
    """0 - 1 - 2 with features, labels and a training mask."""

    ntypes, etypes = ("_N",), ("_E",)

    def __init__(self) -> None:
        self.ndata: dict[str, Any] = {
            "feat": torch.eye(3),
            "label": torch.tensor([0, 1, -1]),
            "train_mask": torch.tensor([True, False, False]),
        }
        self.edata: dict[str, Any] = {}

    def edges(self) -> tuple[torch.Tensor, torch.Tensor]:
        return torch.tensor([0, 1]), torch.tensor([1, 2])

    def num_nodes(self) -> int:
        return 3


def test_edges_features_labels_and_masks_are_read() -> None:
    graph = PathOfThree()
    assert FORMAT.sniff(graph)
    raw = from_dgl(graph, NodeData(), "path")
    assert raw.edges.tolist() == [[0, 1], [1, 2]]
    assert (raw.features == torch.eye(3).numpy()).all()
    assert raw.labels == ["0", "1", None]
    assert raw.split == ["train", "", ""]


def test_several_kinds_of_edges_are_refused() -> None:
    graph = PathOfThree()
    graph.etypes = ("cites", "writes")  # type: ignore[assignment]
    with pytest.raises(DataError, match=r"several kinds of nodes or edges \(_N, cites, writes\)"):
        from_dgl(graph, NodeData(), "path")


@pytest.mark.parametrize("key", ["weight", "edge_weight", "w"])
def test_edge_weights_are_not_dropped_silently(key: str) -> None:
    graph = PathOfThree()
    graph.edata[key] = torch.ones(2)
    with pytest.raises(DataError, match=rf"delete graph\.edata\['{key}'\]"):
        from_dgl(graph, NodeData(), "path")
