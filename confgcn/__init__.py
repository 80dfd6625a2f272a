"""ConfGCN: node classification with calibrated confidences. The names in ``__all__`` are the public interface."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from confgcn.data.load import load_graph as load_graph
    from confgcn.estimator import ConfGCNClassifier as ConfGCNClassifier
    from confgcn.graph import Graph as Graph
    from confgcn.models.baselines.gcn import GCN as GCN
    from confgcn.models.confgcn import ConfGCN as ConfGCN
    from confgcn.runs.request import RunRequest as RunRequest
    from confgcn.runs.run import Run as Run
    from confgcn.runs.saved import load_run as load_run
    from confgcn.runs.train import train as train

__version__ = "0.1.0"

# Imported on first use, so that `confgcn --help` does not import torch.
_MODULES = {
    "ConfGCN": "confgcn.models.confgcn",
    "ConfGCNClassifier": "confgcn.estimator",
    "GCN": "confgcn.models.baselines.gcn",
    "Graph": "confgcn.graph",
    "Run": "confgcn.runs.run",
    "RunRequest": "confgcn.runs.request",
    "load_graph": "confgcn.data.load",
    "load_run": "confgcn.runs.saved",
    "train": "confgcn.runs.train",
}

__all__ = [
    "GCN",
    "ConfGCN",
    "ConfGCNClassifier",
    "Graph",
    "Run",
    "RunRequest",
    "__version__",
    "load_graph",
    "load_run",
    "train",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'confgcn' has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return __all__
