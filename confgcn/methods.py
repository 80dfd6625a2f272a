"""The table of methods: one row each. No other code chooses a method by its name.

A method is imported when it is asked for: a mistyped name is answered before torch is loaded.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from confgcn.exceptions import unknown_name

if TYPE_CHECKING:
    from confgcn.method import AbstractMethod

METHODS = {
    "confgcn": "confgcn.model.network:ConfGCN",
    "gcn": "confgcn.baselines.gcn:GCN",
}


def check_method(name: str) -> None:
    """Is there a method of that name?"""
    if name not in METHODS:
        raise unknown_name("method", name, METHODS)


def method_class(name: str) -> type[AbstractMethod]:
    """The class of the method of that name."""
    check_method(name)
    module, _, class_name = METHODS[name].partition(":")
    found: type[AbstractMethod] = getattr(import_module(module), class_name)
    return found
