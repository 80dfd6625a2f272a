"""A finished run, read again: the trained method with all that its predictions depend on."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from confgcn.confidence.assessment import Scaling
from confgcn.confidence.calibration import NO_CALIBRATION, Calibration, covariates_of
from confgcn.confidence.caution import silent_nodes
from confgcn.exceptions import CorruptFileError, DataError, ResourceError, UsageError
from confgcn.experiments.presets import DataSettings
from confgcn.graph import Graph
from confgcn.method import AbstractMethod, Prediction, Shape
from confgcn.methods import method_class
from confgcn.training.files import read_tensors
from confgcn.training.recipe import validated
from confgcn.training.run_directory import RunDirectory


@dataclass(frozen=True, eq=False)
class Judged:
    """A prediction and what to make of it.

    Attributes:
        graph: as the method saw it, but with all labels.
        probabilities: calibrated, (N, C).
    """

    graph: Graph
    prediction: Prediction
    probabilities: Tensor


@dataclass(frozen=True)
class SavedRun:
    """``config`` is the run's; ``shape`` and ``graph_sha256`` are those of the graph it was trained on."""

    method: AbstractMethod
    config: dict[str, Any]
    data: DataSettings
    shape: Shape
    graph_sha256: str
    calibration: Calibration
    caution: float

    def predict(self, graph: Graph) -> Prediction:
        """Predict the nodes of the graph the method was trained on, given as it was loaded."""
        return self.method.predict(self.prepared(graph).training_view())

    def judge(self, graph: Graph) -> Judged:
        """Predict the graph it was trained on, given as it was loaded, and calibrate as the run did."""
        prepared = self.prepared(graph)
        prediction = self.method.predict(prepared.training_view())
        covariates = covariates_of(prepared, prediction)
        scaling = Scaling(self.calibration, self.caution, covariates, silent_nodes(prepared))
        return Judged(prepared, prediction, scaling.probabilities(prediction.logits))

    def prepared(self, graph: Graph) -> Graph:
        """The graph the method was trained on, given as it was loaded, as the settings wanted it."""
        if Shape.of(graph) != self.shape:
            raise DataError(f"{graph.name}: the method was trained on {self.shape}, this graph has {Shape.of(graph)}")
        if graph.training_view().fingerprint != self.graph_sha256:
            raise DataError(f"{graph.name}: not the graph the method was trained on, though its shape is the same")
        return self.data.prepare(graph, seed=self.config["seed"])


def load_run(run: Path | str) -> SavedRun:
    """The trained method of a run directory."""
    directory = RunDirectory(Path(run))
    if not directory.model.with_suffix(".json").is_file():
        seeds = sorted(path.parent.name for path in directory.path.glob("seed-*/model.json"))
        hint = f"; it holds those of several seeds, name one of them: {', '.join(seeds[:3])}" if seeds else ""
        raise ResourceError(f"{directory.path.absolute()}: holds no finished run (no model.json){hint}")
    tensors, record = read_tensors(directory.model)
    try:
        return _rebuilt(tensors, record)
    except (KeyError, TypeError, RuntimeError, UsageError) as error:
        raise CorruptFileError(f"{directory.model}.json: describes no method of this version ({error})") from None


def _rebuilt(tensors: dict[str, Tensor], record: dict[str, Any]) -> SavedRun:
    config, shape = record["config"], Shape(**record["shape"])
    data = validated(DataSettings, config["data"], where="settings of the data")
    method = method_class(config["method"])(shape, **config["model"])
    method.load_state_dict(tensors)
    given = record.get("calibration")  # weights kept from before a divergence have none
    calibration = NO_CALIBRATION if given is None else Calibration.from_json(given)
    caution = float(record.get("caution", 0.0))
    return SavedRun(method.eval(), config, data, shape, record["graph_sha256"], calibration, caution)
