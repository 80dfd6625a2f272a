"""A folder of arrays: edges, features, labels and a split by position, as programs write them and of any size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from confgcn.data.formats.array_files import MAX_BYTES, MAX_COLUMNS, map_npy
from confgcn.data.formats.format import FileFormat
from confgcn.data.formats.parquet import whole_number_blocks, whole_number_columns
from confgcn.data.formats.store_writing import GraphArrays
from confgcn.data.input_files import naming, unchanged
from confgcn.data.raw import RawGraph, natural_order
from confgcn.exceptions import DataError, ResourceError
from confgcn.graph import validation as checks
from confgcn.graph.graph import SPLITS
from confgcn.graph.validation import IntArray
from confgcn.io.blocks import BLOCK, blocks_of_rows

EDGES = ("edges.npy", "edges.parquet")
SPLIT = "split.npy"
FILES = (*EDGES, "features.npy", "labels.npy", SPLIT, *(f"{s}.npy" for s in SPLITS), "nodes.txt", "classes.txt")
NODE_TABLES = ("nodes.csv", "nodes.tsv", "nodes.parquet")  # with one of them, edges.parquet is a table too
EDGE_BYTES = 16  # in memory
INSTEAD = "confgcn convert FOLDER --out OTHER --mapped writes a graph that is not read into memory"
NO_NODES: IntArray = np.empty(0, dtype=np.int64)


def is_array_folder(path: Path) -> bool:
    """Whether the folder holds edges as an array, or as a Parquet file beside an array of labels."""
    if (path / EDGES[0]).exists():
        return True
    has_both = (path / EDGES[1]).exists() and (path / "labels.npy").exists()
    return has_both and not any((path / name).exists() for name in NODE_TABLES)


@dataclass(frozen=True)
class ArrayFolder:
    """The content of the folder, each array checked when it is first used. Nodes are in the order of the arrays."""

    path: Path

    def __post_init__(self) -> None:
        stems = {name.partition(".")[0] for name in FILES}
        found = sorted(file.name for file in self.path.iterdir() if file.name.partition(".")[0] in stems)
        unknown = [name for name in found if name not in FILES]
        if unknown:
            raise DataError(f"{self.path}: a folder of arrays, in which {unknown[0]} has no meaning; remove it")
        if len({*EDGES} & {*found}) > 1:
            raise DataError(f"{self.path}: which one is it: {' or '.join(EDGES)}? Remove the other")
        if "labels.npy" not in found:
            missing = (self.path / "labels.npy").absolute()
            raise ResourceError(f"{missing}: missing; expected one whole number per node, -1 where unknown")

    @property
    def name(self) -> str:
        return self.path.absolute().name or "graph"

    @property
    def files(self) -> list[Path]:
        return [self.path / name for name in FILES if (self.path / name).exists()]

    @cached_property
    def labels(self) -> IntArray:
        """(N,), -1 for unknown."""
        file = self.path / "labels.npy"
        with naming(file):
            given = map_npy(file)
            checks.check_num_nodes(given.size)
            if not given.size:
                raise DataError("the graph has no nodes")
            limit = None if self._names("classes.txt") is None else len(self.class_names)
            return checks.checked_labels(np.array(given), given.size, limit)

    @property
    def num_nodes(self) -> int:
        return len(self.labels)

    @cached_property
    def class_names(self) -> Sequence[str]:
        names = self._names("classes.txt")
        count = int(self.labels.max(initial=-1)) + 1 if names is None else len(names)
        with naming(self.path / "classes.txt"):
            return checks.checked_names(names, "class", count)

    @cached_property
    def node_names(self) -> Sequence[str] | None:
        names = self._names("nodes.txt")
        if names is None:
            return None
        with naming(self.path / "nodes.txt"):
            return checks.checked_names(names, "node", self.num_nodes)

    @cached_property
    def splits(self) -> dict[str, IntArray]:
        """Positions of nodes; without a split, all labelled nodes are for training."""
        return _read_splits(self.path, self.labels)

    @property
    def features(self) -> npt.NDArray[Any] | None:
        """(N, F), memory-mapped; None where there are none."""
        file = self.path / "features.npy"
        if not file.exists():
            return None
        given = map_npy(file)
        with naming(file):
            checks.check_feature_shape(given.shape, self.num_nodes)
            checks.check_number_kind(given.dtype)
        if given.shape[1] > MAX_COLUMNS:
            raise DataError(f"{file}: {given.shape[1]:,} columns, more than the {MAX_COLUMNS:,} that are read")
        return given

    @property
    def edge_file(self) -> Path:
        return next(self.path / name for name in EDGES if (self.path / name).exists())

    @cached_property
    def num_edges(self) -> int:
        file = self.edge_file
        shape: tuple[int, ...] = map_npy(file).shape if file.suffix == ".npy" else whole_number_columns(file)
        if shape[1:] != (2,) and 0 not in shape:
            raise DataError(f"{file}: expected two columns, the positions of source and target, got {shape}")
        return shape[0]

    def edges(self) -> Iterator[IntArray]:
        """Blocks of edges, (rows, 2) positions of nodes."""
        first = 0
        for block in self._edge_blocks():
            with naming(self.edge_file):
                yield checks.checked_edges(block, self.num_nodes, first_row=first)
            first += len(block)

    def _edge_blocks(self) -> Iterator[npt.NDArray[Any]]:
        if self.edge_file.suffix == ".parquet":
            return whole_number_blocks(self.edge_file, BLOCK // 2) if self.num_edges else iter(())
        given = map_npy(self.edge_file)
        return (given[rows] for rows in blocks_of_rows(self.num_edges, width=2))

    def _names(self, name: str) -> list[str] | None:
        """One name per line."""
        file = self.path / name
        if not file.exists():
            return None
        try:
            lines = file.read_bytes().decode("utf-8-sig").split("\n")
        except UnicodeDecodeError:
            raise DataError(f"{file}: not UTF-8 text") from None
        return [line.removesuffix("\r") for line in (lines if lines[-1] else lines[:-1])]


def read_array_folder(path: Path) -> RawGraph:
    """Read the graph into memory."""
    folder = ArrayFolder(path)
    with unchanged(folder.files):
        split = np.full(folder.num_nodes, "", dtype=object)
        for name, nodes in folder.splits.items():
            split[nodes] = name
        classes = np.array([*folder.class_names, None], dtype=object)  # label -1 is the last one
        return RawGraph(
            folder.name,
            folder.node_names or [str(node) for node in range(folder.num_nodes)],
            _edges_in_memory(folder),
            _features_in_memory(folder),
            labels=classes[folder.labels].tolist(),
            split=split.tolist(),
            class_names=folder.class_names,
        )


def arrays_of_folder(folder: ArrayFolder) -> GraphArrays:
    """The graph in blocks, with its nodes in the natural order of their names, as in every other format."""
    features = folder.features
    if features is None:
        raise DataError(f"{folder.path}: there is no features.npy; --add-features computes features from the edges")
    arrays = GraphArrays(
        folder.name,
        folder.num_nodes,
        features.shape[1],
        folder.num_edges,
        folder.edges,
        lambda rows: features[rows],
        folder.labels,
        folder.splits,
        folder.class_names,
    )
    names = folder.node_names
    return arrays if names is None else arrays.reordered(natural_order(names), names)


def _edges_in_memory(folder: ArrayFolder) -> IntArray:
    if folder.num_edges * EDGE_BYTES > MAX_BYTES:
        raise DataError(f"{folder.edge_file}: {folder.num_edges:,} edges are not read into memory; {INSTEAD}")
    return np.concatenate([np.empty((0, 2), dtype=np.int64), *folder.edges()])


def _features_in_memory(folder: ArrayFolder) -> npt.NDArray[Any] | None:
    features = folder.features
    if features is not None and features.nbytes > MAX_BYTES:
        file = folder.path / "features.npy"
        raise DataError(f"{file}: {features.nbytes:,} bytes are not read into memory; {INSTEAD}")
    return None if features is None else np.array(features)


def _read_splits(folder: Path, labels: IntArray) -> dict[str, IntArray]:
    positions = {split: folder / f"{split}.npy" for split in SPLITS}
    given = [file.name for file in positions.values() if file.exists()]
    if (folder / SPLIT).exists():
        if given:
            raise DataError(f"{folder}: is the split in {SPLIT} or in {', '.join(given)}? Remove the other")
        return _splits_by_code(folder / SPLIT, labels)
    if not given:
        return {"train": np.flatnonzero(labels >= 0), **dict.fromkeys(SPLITS[1:], NO_NODES)}
    found = {split: _split_by_position(file, split, labels) for split, file in positions.items()}
    with naming(folder):
        checks.check_disjoint(found)
    return found


def _splits_by_code(file: Path, labels: IntArray) -> dict[str, IntArray]:
    codes = map_npy(file)
    if codes.shape != labels.shape or codes.dtype.kind not in "iu":
        wanted = f"one whole number per node, shape {labels.shape}"
        raise DataError(f"{file}: expected {wanted}, got {codes.dtype} {codes.shape}")
    wrong = (codes < 0) | (codes > len(SPLITS))
    meaning = dict(enumerate(SPLITS, start=1))
    if wrong.any():
        node, known = int(np.argmax(wrong)), ", ".join(f"{code} for {split}" for code, split in meaning.items())
        raise DataError(f"{file}: node {node} has {codes[node]}, expected 0 for none, {known}")
    with naming(file):
        nodes = {split: np.flatnonzero(codes == code) for code, split in meaning.items()}
        return {split: checks.checked_split(positions, split, labels) for split, positions in nodes.items()}


def _split_by_position(file: Path, split: str, labels: IntArray) -> IntArray:
    if not file.exists():
        return NO_NODES
    with naming(file):
        return checks.checked_split(np.array(map_npy(file)), split, labels)


FORMAT = FileFormat(
    "arrays", "edges.npy and labels.npy", (), is_array_folder, lambda request: read_array_folder(request.path)
)
