"""What a mapped graph is made from: a folder of arrays a block at a time, anything else from memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from confgcn.data.formats.array_folder import ArrayFolder, is_array_folder
from confgcn.data.formats.array_graph import arrays_of_folder
from confgcn.data.formats.graph_arrays import GraphArrays, arrays_of_graph
from confgcn.data.input_files import unchanged
from confgcn.runs.graph_source import GraphFiles, GraphSource


@contextmanager
def arrays_of_source(source: GraphSource) -> Iterator[GraphArrays]:
    """The arrays of a graph, whose files must not change while they are used."""
    path = source.path if isinstance(source, GraphFiles) else None
    if path is None or not is_array_folder(path) or source != GraphFiles(path):
        yield arrays_of_graph(source.load(0))
        return
    folder = ArrayFolder(path)
    with unchanged(folder.files):
        yield arrays_of_folder(folder)
