"""A finished run, read again: the trained method with all that its predictions depend on."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from confgcn.data.transforms import scale_features
from confgcn.exceptions import DataError, ResourceError
from confgcn.graph import Graph
from confgcn.method import AbstractMethod, Prediction, Shape
from confgcn.methods import method_class
from confgcn.training.files import read_tensors
from confgcn.training.run_directory import RunDirectory


@dataclass(frozen=True)
class SavedRun:
    """``config`` is the run's; ``shape`` that of the graph the method was trained on."""

    method: AbstractMethod
    config: dict[str, Any]
    shape: Shape

    @torch.no_grad()
    def predict(self, graph: Graph) -> Prediction:
        """Predict the nodes of the graph the method was trained on, given as it was loaded."""
        if Shape.of(graph) != self.shape:
            raise DataError(f"{graph.name}: the method was trained on {self.shape}, this graph has {Shape.of(graph)}")
        scaled = scale_features(graph, self.config["data"]["feature_scaling"])
        prediction: Prediction = self.method(scaled.training_view())
        return prediction


def load_run(run: Path | str) -> SavedRun:
    """The trained method of a run directory."""
    directory = RunDirectory(Path(run))
    if not directory.model.with_suffix(".json").is_file():
        raise ResourceError(f"{directory.path.absolute()}: holds no finished run (no model.json)")
    tensors, record = read_tensors(directory.model)
    config, shape = record["config"], Shape(**record["shape"])
    method = method_class(config["method"])(shape, **config["model"])
    method.load_state_dict(tensors)
    return SavedRun(method.eval(), config, shape)
