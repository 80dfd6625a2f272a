"""Citation graphs in the npz layout of Graph2Gauss (Bojchevski, Günnemann 2018), in both spellings of its keys."""

from __future__ import annotations

from pathlib import Path

from confgcn.data.formats.from_arrays import edges_of
from confgcn.data.formats.npz import CSR_PARTS, npz_keys, read_npz, sparse_from
from confgcn.data.formats.table import listed
from confgcn.exceptions import DataError
from confgcn.graph import Graph

DIALECTS = (("adj_", "attr_"), ("adj_matrix.", "attr_matrix."))


def read_citation_npz(path: Path, *, name: str) -> Graph:
    """Read adjacency, features and labels; the graph has no split yet."""
    adjacency_prefix, features_prefix = _dialect(path)
    matrices = [prefix + part for prefix in (adjacency_prefix, features_prefix) for part in CSR_PARTS]
    arrays = read_npz(path, [*matrices, "labels"])
    adjacency = sparse_from(arrays, adjacency_prefix, path)
    features = sparse_from(arrays, features_prefix, path)
    if adjacency.shape != (features.shape[0], features.shape[0]):
        raise DataError(f"{path}: the adjacency is {adjacency.shape}, the features are {features.shape}")
    return Graph.build(edges_of(adjacency), features, arrays["labels"], name=name)


def _dialect(path: Path) -> tuple[str, str]:
    found = npz_keys(path)
    for adjacency_prefix, features_prefix in DIALECTS:
        if f"{adjacency_prefix}data" in found:
            return adjacency_prefix, features_prefix
    raise DataError(f"{path}: expected arrays adj_data, ... or adj_matrix.data, ...; found {listed(found)}")
