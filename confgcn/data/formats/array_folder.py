"""A folder of arrays: edges, features, labels and a split by position, as programs write them and of any size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from confgcn.data.formats.array_split import PART_FILES, SPLIT, read_parts
from confgcn.data.formats.npy import map_npy
from confgcn.data.formats.npz import MAX_COLUMNS
from confgcn.data.formats.parquet import whole_number_blocks, whole_number_columns
from confgcn.data.input_files import naming
from confgcn.exceptions import DataError, ResourceError
from confgcn.graph import validation as checks
from confgcn.graph.validation import IntArray
from confgcn.io.blocks import BLOCK, blocks_of_rows

EDGES = ("edges.npy", "edges.parquet")
FILES = (*EDGES, "features.npy", "labels.npy", SPLIT, *PART_FILES, "nodes.txt", "classes.txt")
TABLE_OF_NODES = ("nodes.csv", "nodes.tsv", "nodes.parquet")  # with which edges.parquet is a table too


def is_array_folder(path: Path) -> bool:
    """Edges as an array; or as two columns beside labels that are one."""
    if (path / EDGES[0]).exists():
        return True
    has_both = (path / EDGES[1]).exists() and (path / "labels.npy").exists()
    return has_both and not any((path / name).exists() for name in TABLE_OF_NODES)


@dataclass(frozen=True)
class ArrayFolder:
    """What is in the folder, each array checked when it is asked for. Nodes are in the order of the arrays."""

    path: Path

    def __post_init__(self) -> None:
        stems = {name.partition(".")[0] for name in FILES}
        found = sorted(file.name for file in self.path.iterdir() if file.name.partition(".")[0] in stems)
        strangers = [name for name in found if name not in FILES]
        if strangers:
            raise DataError(f"{self.path}: a folder of arrays, in which {strangers[0]} has no meaning; remove it")
        if len({*EDGES} & {*found}) > 1:
            raise DataError(f"{self.path}: which one is it: {' or '.join(EDGES)}? Remove the other")
        if "labels.npy" not in found:
            missing = (self.path / "labels.npy").absolute()
            raise ResourceError(f"{missing}: missing; it has a whole number for every node, -1 where none is known")

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
    def parts(self) -> dict[str, IntArray]:
        """The positions of the nodes of each part; without a split every labelled node is trained on."""
        return read_parts(self.path, self.labels)

    @property
    def features(self) -> npt.NDArray[Any] | None:
        """(N, F), mapped; None where there are none."""
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
        """(rows, 2) positions of nodes, a block at a time."""
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
        """One name in a line."""
        file = self.path / name
        if not file.exists():
            return None
        try:
            lines = file.read_bytes().decode("utf-8-sig").split("\n")
        except UnicodeDecodeError:
            raise DataError(f"{file}: not UTF-8 text") from None
        return [line.removesuffix("\r") for line in (lines if lines[-1] else lines[:-1])]
