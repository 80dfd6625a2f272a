"""ConfGCN: labels for the rest of your graph, with confidences. The names below are the public interface."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from confgcn.baselines.gcn import GCN as GCN
    from confgcn.data.datasets import load_graph as load_graph
    from confgcn.estimator import ConfGCNClassifier as ConfGCNClassifier
    from confgcn.experiments.runs import RunRequest as RunRequest
    from confgcn.experiments.runs import train as train
    from confgcn.experiments.saved_run import load_run as load_run
    from confgcn.graph import Graph as Graph
    from confgcn.model.network import ConfGCN as ConfGCN

__version__ = "0.1.0"

# Imported on first use, so that `confgcn --help` does not wait for torch.
_HOMES = {
    "ConfGCN": "confgcn.model.network",
    "ConfGCNClassifier": "confgcn.estimator",
    "GCN": "confgcn.baselines.gcn",
    "Graph": "confgcn.graph",
    "RunRequest": "confgcn.experiments.runs",
    "load_graph": "confgcn.data.datasets",
    "load_run": "confgcn.experiments.saved_run",
    "train": "confgcn.experiments.runs",
}

__all__ = [
    "GCN",
    "ConfGCN",
    "ConfGCNClassifier",
    "Graph",
    "RunRequest",
    "__version__",
    "load_graph",
    "load_run",
    "train",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'confgcn' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
