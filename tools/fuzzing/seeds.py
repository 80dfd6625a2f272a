"""Valid files of every format that is read, from which damaged ones are made."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import lzma
import pickle
import re
import sqlite3
import struct
import tempfile
from contextlib import closing
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch

from confgcn import ConfGCNClassifier, RunRequest, train
from confgcn.data.formats.arrays import ArrayFolder, arrays_of_folder
from confgcn.data.formats.npz import graph_npz_bytes
from confgcn.data.formats.parquet import parquet_bytes
from confgcn.data.formats.registry import read_graph, write_graph
from confgcn.data.formats.store_writing import write_store
from confgcn.data.raw import raw_from_graph
from confgcn.io.json_files import write_checksummed_json
from confgcn.io.tensor_files import read_tensors, write_tensors
from confgcn.runs.settings import resolve
from confgcn.runs.stored_graph import make_shards
from confgcn.runs.train import make_loop
from confgcn.runs.tune import search
from confgcn.training.saved_state import NODES, state_of
from fuzzing.seals import seal

NUM_NODES, NUM_EDGES = 24, 50
REPRODUCTION = Path(__file__).parents[2] / "reproduction" / "results"
FEW_ROWS = 4

Files = dict[str, bytes]


def numbered_tables() -> Files:
    """Tables whose ids are whole numbers, as a matrix of features without ids needs them."""
    edges = [["source", "target"], *([str(a), str(b)] for a, b in _edges())]
    nodes = [[cell.removeprefix("n") for cell in row[:3]] for row in _nodes()]
    return {"edges.csv": _delimited(edges, ","), "nodes.csv": _delimited(nodes, ",")}


def edge_tables() -> Files:
    """Edges in every form of a table, by file name."""
    rows = [["source", "target"], *([f"n{a}", f"n{b}"] for a, b in _edges())]
    return {**_texts(rows, "edges"), "edges.parquet": _parquet(rows)}


def node_tables() -> Files:
    """Nodes with labels, a split, numbers, a category and gaps, in every form of a table."""
    return {**_texts(_nodes(), "nodes"), "nodes.parquet": _parquet(_nodes())}


def feature_files() -> Files:
    """A matrix of features, dense and sparse, with and without ids."""
    matrix = np.arange(NUM_NODES * 3, dtype=np.float64).reshape(NUM_NODES, 3) / 7
    sparse = sp.csr_matrix(np.where(matrix > 5, 1.0, 0.0))
    ids = np.array([f"n{node}" for node in range(NUM_NODES)])
    parts = {key: getattr(sparse, key) for key in ("data", "indices", "indptr", "shape")}
    return {
        "features.npy": _npy(matrix.astype(np.float32)),
        "features.npz": _npz(features=matrix, ids=ids, feature_names=np.array(["a", "b", "c"])),
        "features.NPZ": _npz(**parts, ids=ids, format=np.array(b"csr")),
    }


def whole_graphs(folder: Path) -> Files:
    """Graphs in one file; ``folder`` holds one as tables."""
    raw = read_graph(folder)
    with tempfile.TemporaryDirectory() as place:
        (file,) = write_graph(raw, Path(place) / "graph.graphml")
        graphml = file.read_bytes()
    return {
        "graph.npz": graph_npz_bytes(raw),
        "sparse.npz": graph_npz_bytes(raw_from_graph(raw.build(("identity",)))),
        "graph.graphml": graphml,
        "graph.graphml.gz": gzip.compress(graphml, mtime=0),
        "citation.npz": _citation("adj_", "attr_"),
        "matrix.npz": _citation("adj_matrix.", "attr_matrix."),
    }


def array_files() -> Files:
    """A graph as a folder of arrays."""
    random = np.random.default_rng(0)
    return {
        "edges.npy": _npy(np.array(_edges())),
        "labels.npy": _npy(np.arange(NUM_NODES) % 3),
        "features.npy": _npy(random.normal(size=(NUM_NODES, 3)).astype(np.float32)),
        "split.npy": _npy((np.arange(NUM_NODES) % 4).astype(np.int8)),
        "nodes.txt": "".join(f"n{node}\n" for node in range(NUM_NODES)).encode(),
    }


def edge_columns() -> Files:
    """The edges of such a folder as a table of two columns."""
    source, target = np.array(_edges()).T
    return {"edges.parquet": parquet_bytes({"source": source, "target": target})}


def mapped_graph() -> Files:
    """What is made of a folder of arrays to be mapped."""
    with TemporaryDirectory() as scratch:
        folder = Path(scratch) / "arrays"
        folder.mkdir()
        for name, content in array_files().items():
            (folder / name).write_bytes(content)
        store = write_store(arrays_of_folder(ArrayFolder(folder)), Path(scratch) / "store")
        return {file.name: file.read_bytes() for file in store.iterdir()}


def shards(graph: Path, *, sparse: bool) -> Files:
    """A graph in three shards, each with halo nodes of the others."""
    made = read_graph(graph).build(("identity",) if sparse else ())
    with TemporaryDirectory() as scratch:
        folder = Path(scratch) / "shards"
        make_shards(folder, made, 3, how="hash")
        return _files_under(folder)


def planetoid_files(name: str) -> Files:
    """The eight files of a small data set: nodes 0 to 19 and the test nodes 20 to 23."""
    features = sp.csr_matrix(np.eye(NUM_NODES, 6, dtype=np.float32))
    labels = np.eye(3, dtype=np.int32)[np.arange(NUM_NODES) % 3]
    neighbours: dict[int, list[int]] = {node: [] for node in range(NUM_NODES)}
    for a, b in _edges():
        neighbours[a].append(b)
    rows = {"x": slice(0, 6), "tx": slice(20, 24), "allx": slice(0, 20)}
    parts: dict[str, Any] = {key: features[part] for key, part in rows.items()}
    parts |= {key[:-1] + "y": labels[part] for key, part in rows.items()}
    pickled = {f"ind.{name}.{key}": _pickled(part) for key, part in {**parts, "graph": neighbours}.items()}
    return {**pickled, f"ind.{name}.test.index": b"".join(b"%d\n" % node for node in (21, 20, 23, 22))}


def settings_files() -> dict[str, Files]:
    """TOML files, by what reads them; that of the options names a graph beside it."""
    options = (
        'graph = "../files/graph"\nsplit-seed = 1\nlabel = "label"\nignore = ["colour"]\nimpute = true\njson = true\n'
    )
    settings = (
        'epochs = 3\nlearning_rate = 0.01\nfeature_scaling = "none"\nhidden_dim = 8\ndropout = 0.5\nstop = "never"\n'
    )
    space = "hidden_dim = [8, 16]\nlearning_rate = { low = 0.001, high = 0.1, log = true }\nepochs = [2]\n"
    return {
        "config": {"config.toml": options.encode()},
        "settings": {"settings.toml": settings.encode()},
        "space": {"space.toml": space.encode()},
    }


def write_graph_tables(folder: Path) -> None:
    """A graph as two tables."""
    folder.mkdir()
    (folder / "edges.csv").write_bytes(edge_tables()["edges.csv"])
    (folder / "nodes.csv").write_bytes(node_tables()["nodes.csv"])


def finished_run(graph: Path) -> Files:
    """The files of a run by the command, with a checkpoint as an unfinished one leaves it."""
    out = Path("run")
    train(RunRequest(graph, out=out, overrides={"epochs": 2}), notify=lambda _: None)
    loop = make_loop(read_graph(graph).build(), resolve("confgcn", "default", "", {"epochs": 2}))
    loop.fit()
    (out / "checkpoints").mkdir()
    write_tensors(out / "checkpoints" / "epoch-0000002", *state_of(loop))
    return _contents(out)


def run_in_parts(run: Files, stem: str) -> Files:
    """The same run with the checkpoint ``stem`` as two processes write it."""
    with TemporaryDirectory() as scratch:
        folder = Path(scratch)
        for suffix in (".json", ".safetensors"):
            (folder / f"whole{suffix}").write_bytes(run[f"{stem}{suffix}"])
        tensors, record = read_tensors(folder / "whole")
        number, kept = Path(stem).name, {name: value for name, value in run.items() if not name.startswith(stem)}
        for part in range(2):
            nodes = torch.arange(part, NUM_NODES, 2)
            own = {name: value[nodes] if name in record["per_node"] else value for name, value in tensors.items()}
            write_tensors(folder / f"{number}-worker-{part}", {**own, NODES: nodes}, record)
        write_checksummed_json(folder / f"{number}.json", {"written_by": 2})
        return kept | {f"{Path(stem).parent}/{file.name}": file.read_bytes() for file in folder.glob(f"{number}*")}


def saved_estimator(graph: Path) -> Files:
    """The files of a run by the estimator, which has no validation nodes."""
    raw = read_graph(graph)
    labels = [label or "" for label in raw.labels or ()]
    estimator = ConfGCNClassifier(settings={"epochs": 2})
    estimator.fit(_adjacency(), raw.features, labels, notify=lambda _: None).save("saved")
    return _contents(Path("saved"))


def _contents(run: Path) -> Files:
    """All but the time that it took, which is never the same."""
    metrics = run / "metrics.json"
    metrics.write_bytes(re.sub(rb'"seconds": [0-9.]+', b'"seconds": 1.5', metrics.read_bytes()))
    seal(metrics)
    return _files_under(run)


def _files_under(folder: Path) -> Files:
    return {str(file.relative_to(folder)): file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file()}


def study(request: RunRequest) -> bytes:
    """The database of a search with one trial, without its dates."""
    space, storage = Path("space.toml"), Path("study.db")
    space.write_bytes(settings_files()["space"]["space.toml"])
    search(request, space=space, storage=storage, trials=1, notify=lambda _: None)
    with closing(sqlite3.connect(storage)) as database:
        database.execute("UPDATE trials SET datetime_start = '2026-01-01', datetime_complete = '2026-01-02'")
        database.commit()
        database.execute("VACUUM")
    return storage.read_bytes()


def reproduction_files() -> Files:
    """The first rows of the tables of results, what their hashes stand for, and the numbers of some tables."""
    files = {}
    for table, legend in (("results.csv", "settings.json"), ("confidence.csv", "confidence_settings.json")):
        lines = (REPRODUCTION / table).read_text().splitlines(keepends=True)[: 1 + FEW_ROWS]
        named = {cell for row in csv.reader(lines) for cell in row}
        meanings = json.loads((REPRODUCTION / legend).read_text())
        files[table] = "".join(lines).encode()
        files[legend] = json.dumps({key: value for key, value in meanings.items() if key in named}, indent=2).encode()
    shown = ("about", "table1", "claims", "overview", "presets")
    return files | {f"{name}.json": (REPRODUCTION / f"{name}.json").read_bytes() for name in shown}


def _edges() -> list[tuple[int, int]]:
    random = Random(0)  # noqa: S311
    return [(random.randrange(NUM_NODES), random.randrange(NUM_NODES)) for _ in range(NUM_EDGES)]


def _nodes() -> list[list[str]]:
    random = Random(1)  # noqa: S311
    header = ["id", "label", "split", "size", "colour", "gaps"]
    parts = ["train", "train", "validation", "test"]
    return [header] + [
        [f"n{i}", "ab"[i % 2], parts[i // 2 % 4], f"{random.gauss(0, 1):.3f}", ("red", "blue", "")[i % 3], str(i)]
        for i in range(NUM_NODES)
    ]


def _texts(rows: list[list[str]], stem: str) -> Files:
    plain = _delimited(rows, ",")
    return {
        f"{stem}.csv": plain,
        f"{stem}.tsv": _delimited(rows, "\t"),
        f"{stem}.txt": b"\xef\xbb\xbf# a comment\r\n" + _delimited(rows, ";").replace(b"\n", b"\r\n"),
        f"{stem}.csv.gz": gzip.compress(plain, mtime=0),
        f"{stem}.csv.bz2": bz2.compress(plain),
        f"{stem}.csv.xz": lzma.compress(plain),
    }


def _delimited(rows: list[list[str]], separator: str) -> bytes:
    return "".join(separator.join(row) + "\n" for row in rows).encode()


def _parquet(rows: list[list[str]]) -> bytes:
    header, *cells = rows
    columns: dict[str, Any] = dict(zip(header, map(list, zip(*cells, strict=True)), strict=True))
    if "size" in columns:
        columns |= {"size": [float(text) for text in columns["size"]], "gaps": np.arange(len(cells))}
    return parquet_bytes(columns)


def _npy(array: Any) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def _npz(**arrays: Any) -> bytes:
    """Which numpy writes with fixed dates."""
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


def _adjacency() -> sp.csr_matrix:
    sources, targets = np.array(_edges()).T
    return sp.coo_matrix((np.ones(NUM_EDGES), (sources, targets)), shape=(NUM_NODES, NUM_NODES)).tocsr() != 0


def _citation(edges: str, features: str) -> bytes:
    matrices = {edges: _adjacency(), features: sp.csr_matrix(np.eye(NUM_NODES, 5))}
    parts = ("data", "indices", "indptr", "shape")
    arrays = {prefix + part: np.asarray(getattr(matrix, part)) for prefix, matrix in matrices.items() for part in parts}
    return _npz(**arrays, labels=np.arange(NUM_NODES) % 3)


class _OldPickler(pickle._Pickler):
    """Bytes as Python 2 wrote them: as a string, which needs no global."""

    def save_bytes(self: Any, raw: bytes) -> None:
        self.write(pickle.BINSTRING + struct.pack("<i", len(raw)) + raw)
        self.memoize(raw)

    dispatch = {**pickle._Pickler.dispatch, bytes: save_bytes}  # noqa: RUF012


def _pickled(part: Any) -> bytes:
    stream = io.BytesIO()
    _OldPickler(stream, protocol=2).dump(part)
    return stream.getvalue()
