"""Readers of graphs, as ``confgcn inspect`` reads them: tables, features, arrays, whole graphs, planetoid files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import torch

from confgcn.data.formats.table import TableOptions
from confgcn.data.inspection import inspection_notices
from confgcn.graph import Graph
from confgcn.runs.graph_input import GraphFiles, GraphInput, NamedGraph, files_input, load_for_inspection
from confgcn.sparse import SparseMatrix
from fuzzing import seeds
from fuzzing.reader import Reader
from fuzzing.seals import seal_mapped


def graph_readers(graph: Path) -> Iterator[Reader]:
    """One for every form of a file, and one for every part of a planetoid data set."""
    edges, nodes = seeds.edge_tables(), seeds.node_tables()
    tables = {"edges.csv": edges["edges.csv"], "nodes.csv": nodes["nodes.csv"]}
    for kind, given, other in (("edges", edges, "nodes.csv"), ("nodes", nodes, "edges.csv")):
        for name, content in given.items():
            share = 2.0 if name.endswith((".csv", ".parquet")) else 0.7
            yield Reader(f"table/{name}", _look, {name: content}, {other: tables[other]}, share)
        yield Reader(f"table/{kind}-imputed", _look_imputing, given, {other: tables[other]})
    for name, content in seeds.feature_files().items():
        beside = seeds.numbered_tables() if name.endswith(".npy") else tables
        yield Reader(f"features/{name}", _look_with_features, {name: content}, beside, 1.5)
    wholes, planetoid = seeds.whole_graphs(graph), seeds.planetoid_files("small")
    for name, content in wholes.items():
        yield Reader(f"graph/{name}", _look_at_file, {name: content}, {}, 1.5)
    for name, content in planetoid.items():
        yield Reader(f"planetoid/{name.removeprefix('ind.small.')}", _look, {name: content}, planetoid)
    yield from _array_readers()
    named = seeds.planetoid_files("cora")
    for part in ("allx", "ally", "graph", "test.index"):
        name = f"ind.cora.{part}"
        yield Reader(
            f"named/{name}", lambda folder: NamedGraph("cora", folder).load(0), {name: named[name]}, named, 0.5
        )
    archive = {"cora_ml.npz": wholes["citation.npz"]}
    yield Reader("named/cora_ml.npz", lambda folder: NamedGraph("cora_ml", folder).load(0), archive, {}, 0.5)


def _array_readers() -> Iterator[Reader]:
    arrays, columns, mapped = seeds.array_files(), seeds.edge_columns(), seeds.mapped_graph()
    for name, content in arrays.items():
        yield Reader(f"arrays/{name}", _look, {name: content}, arrays, 0.5)
    beside = {name: content for name, content in arrays.items() if name != "edges.npy"}
    yield Reader("arrays/edges.parquet", _look, columns, beside, 0.5)
    for name in ("mapped.json", "indptr.npy", "indices.npy", "features.npy", "train.npy", "name_ends.npy"):
        yield Reader(f"mapped/{name}", _look, {name: mapped[name]}, mapped, 0.5, seal=seal_mapped)


def _look(folder: Path) -> object:
    return looked_at(files_input(GraphFiles(folder)))


def _look_imputing(folder: Path) -> object:
    return looked_at(GraphFiles(folder, options=TableOptions(impute=True, categorical=("colour",))))


def _look_with_features(folder: Path) -> object:
    features = next(file for file in folder.iterdir() if file.stem == "features")
    return looked_at(GraphFiles(edges=folder / "edges.csv", nodes=folder / "nodes.csv", features=features))


def _look_at_file(folder: Path) -> object:
    return looked_at(GraphFiles(next(folder.iterdir())))


def looked_at(source: GraphInput) -> Graph:
    """What ``confgcn inspect`` does; all numbers must be finite."""
    graph, statistics = load_for_inspection(source, 0)
    inspection_notices(graph, statistics)
    values = graph.features.values if isinstance(graph.features, SparseMatrix) else graph.features
    if not torch.isfinite(values).all():
        raise AssertionError("a feature that is not finite was let in")
    return graph
