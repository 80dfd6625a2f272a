"""The description of a format: one row of the registry, defined in the module of the format."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from confgcn.data.formats.objects.node_data import NodeData
from confgcn.data.formats.table import TableOptions
from confgcn.data.raw import RawGraph
from confgcn.exceptions import UsageError
from confgcn.graph import Graph


@dataclass(frozen=True)
class FileRequest:
    """Files to read a graph from, and how.

    Attributes:
        path: the file or folder that holds the edges, or the whole graph.
        nodes: a table of nodes, where it is not in ``path``.
        features: a matrix of features, where it is not in ``path``.
        options: how the columns of tables are read.
        like: names of the features of a trained graph, which must be those of this one; features that are computed
            from the edges are left out.
        known: ids of the nodes of a trained graph, which edges may name.
    """

    path: Path
    nodes: Path | None = None
    features: Path | None = None
    options: TableOptions = field(default_factory=TableOptions)
    like: Sequence[str] | None = None
    known: Sequence[str] = ()


class Writer(Protocol):
    """Writes a graph to ``path``, all files or none, and returns their paths."""

    def __call__(self, raw: RawGraph, path: Path, *, overwrite: bool) -> list[Path]: ...


@dataclass(frozen=True)
class FileFormat:
    """A format of files.

    Attributes:
        name: in the registry.
        description: the files, for messages and help.
        suffixes: of a file in this format, in lower case; () for a folder of files.
        sniff: whether a path holds a graph in this format.
        read: reads the graph.
        write: None where graphs are not written in this format.
        has_columns: whether :class:`TableOptions` and tables of nodes apply.
        is_folder: whether a graph is written as a folder.
        keeps_weights: whether edge weights are written.
    """

    name: str
    description: str
    suffixes: tuple[str, ...]
    sniff: Callable[[Path], bool]
    read: Callable[[FileRequest], RawGraph]
    write: Writer | None = None
    has_columns: bool = False
    is_folder: bool = False
    keeps_weights: bool = False


@dataclass(frozen=True)
class ObjectFormat:
    """A graph as an object in memory, which is recognised without importing the library that it comes from.

    Attributes:
        name: in the registry.
        description: the object, for messages.
        sniff: whether an object is a graph of this kind.
        read: converts the object, with the node data that was given beside it, to a graph of this name.
        write: converts a graph to such an object; None where there is no such conversion.
    """

    name: str
    description: str
    sniff: Callable[[Any], bool]
    read: Callable[[Any, NodeData, str], RawGraph]
    write: Callable[[Graph], Any] | None = None


def check_free(path: Path, *, overwrite: bool) -> None:
    """Refuse to write over a file, or into a folder that is not empty, unless ``overwrite``."""
    exists = any(path.iterdir()) if path.is_dir() else path.exists()
    if exists and not overwrite:
        raise UsageError(f"{path.absolute()} exists already; give another name, or --overwrite")
