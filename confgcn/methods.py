"""The table of methods: one row each. No other code chooses a method by its name."""

from __future__ import annotations

from confgcn.baselines.gcn import GCN
from confgcn.exceptions import unknown_name
from confgcn.method import AbstractMethod
from confgcn.model.network import ConfGCN

METHODS: dict[str, type[AbstractMethod]] = {
    "confgcn": ConfGCN,
    "gcn": GCN,
}


def method_class(name: str) -> type[AbstractMethod]:
    """The class of the method of that name."""
    if name not in METHODS:
        raise unknown_name("method", name, METHODS)
    return METHODS[name]
