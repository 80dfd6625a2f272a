"""Citation graphs in the npz layout of Graph2Gauss (Bojchevski, Günnemann 2018), in both spellings of its keys."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from confgcn.data.formats.array_files import CSR_KEYS, npz_keys, read_npz, sparse_from
from confgcn.data.formats.format import FileFormat, FileRequest
from confgcn.data.formats.objects.matrices import edges_of_adjacency
from confgcn.data.formats.table import listed
from confgcn.data.input_files import naming, stem_of, suffix_of, unchanged
from confgcn.data.raw import RawGraph, raw_from_graph
from confgcn.exceptions import DataError
from confgcn.graph import Graph

DIALECTS = (("adj_", "attr_"), ("adj_matrix.", "attr_matrix."))


def read_citation_npz(path: Path, *, name: str) -> Graph:
    """Read adjacency, features and labels; the graph has no split yet."""
    adjacency_prefix, features_prefix = _dialect(path)
    matrices = [prefix + part for prefix in (adjacency_prefix, features_prefix) for part in CSR_KEYS]
    arrays = read_npz(path, [*matrices, "labels"])
    adjacency = sparse_from(arrays, adjacency_prefix, path)
    features = sparse_from(arrays, features_prefix, path)
    if adjacency.shape != (features.shape[0], features.shape[0]):
        raise DataError(f"{path}: the adjacency is {adjacency.shape}, the features are {features.shape}")
    return Graph.build(edges_of_adjacency(adjacency), features, arrays["labels"], name=name)


def _dialect(path: Path) -> tuple[str, str]:
    found = npz_keys(path)
    for adjacency_prefix, features_prefix in DIALECTS:
        if f"{adjacency_prefix}data" in found:
            return adjacency_prefix, features_prefix
    raise DataError(f"{path}: expected arrays adj_data, ... or adj_matrix.data, ...; found {listed(found)}")


def _read(request: FileRequest) -> RawGraph:
    with unchanged([request.path]), naming(request.path):
        return replace(raw_from_graph(read_citation_npz(request.path, name=stem_of(request.path))), split=None)


def _is_npz(path: Path) -> bool:
    return suffix_of(path) == ".npz" and not path.is_dir()


FORMAT = FileFormat("citation_npz", "a .npz file with an adjacency matrix", (".npz",), _is_npz, _read)
