"""A graph that is mapped and not read: a folder of arrays in their last form, and one sealed file that describes them.

Opening one compares the sizes and types of its arrays with what is written of them, and reads none of them: a page is
read when it is looked at. ``store_check`` reads all. The files must stay as they are while the graph is in use.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import torch
from pydantic import BaseModel, ConfigDict, Field

from confgcn.data.formats.npy import map_npy
from confgcn.data.formats.text_arrays import Numbers, TextArrays
from confgcn.data.input_files import naming, unchanged
from confgcn.data.raw import PARTS
from confgcn.exceptions import CorruptFileError, brief
from confgcn.graph import EdgeCounts, Graph
from confgcn.graph.validation import checked_names
from confgcn.io.checksums import digest
from confgcn.io.json_files import checked_record, read_checksummed_json
from confgcn.sparse import SparseStructure

RECORD = "mapped.json"
KINDS: dict[str, npt.DTypeLike] = {
    **dict.fromkeys(("indptr", "indices", "labels", *PARTS), np.int64),
    "features": np.float32,
}
NAME_KINDS: dict[str, npt.DTypeLike] = {"name_bytes": np.uint8, "name_ends": np.int64}  # where nodes have names

Whole = Annotated[int, Field(ge=0)]
Arrays = dict[str, npt.NDArray[Any]]


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")


class ArrayRecord(_Strict):
    """The shape of an array, and the SHA-256 of its file."""

    shape: list[Whole]
    sha256: str


class StoreRecord(_Strict):
    """What ``mapped.json`` says."""

    name: str
    class_names: list[str]
    feature_names: list[str]
    remarks: list[str]
    edge_counts: EdgeCounts
    arrays: dict[str, ArrayRecord]


def is_store(path: Path) -> bool:
    """Is this the folder of a mapped graph?"""
    return (path / RECORD).is_file()


def store_sha256(path: Path) -> str:
    """What tells this graph from any other: the checksum of the file that holds those of all arrays."""
    return digest((path / RECORD).read_bytes())


def open_store(path: Path) -> Graph:
    """The graph in the folder ``path``, its arrays mapped; what is written to its tensors stays in memory."""
    record = read_record(path)
    arrays = map_arrays(path, record)
    tensors = {name: torch.from_numpy(array) for name, array in arrays.items()}
    num_nodes = len(arrays["labels"])
    return Graph(
        name=record.name,
        adjacency=SparseStructure(tensors["indptr"], tensors["indices"], (num_nodes, num_nodes)),
        features=tensors["features"],
        labels=tensors["labels"],
        train=tensors["train"],
        validation=tensors["validation"],
        test=tensors["test"],
        node_ids=torch.arange(num_nodes),
        node_names=_node_names(arrays),
        class_names=tuple(record.class_names),
        edge_counts=record.edge_counts,
        feature_names=tuple(record.feature_names),
        reader_notices=tuple(record.remarks),
    )


def read_record(path: Path) -> StoreRecord:
    """What is written of the arrays."""
    file = path / RECORD
    record = checked_record(StoreRecord, read_checksummed_json(file), f"{file}: describes no graph")
    with naming(file):
        checked_names(record.class_names, "class", len(record.class_names))
    _check_shapes(file, record)
    return record


def map_arrays(path: Path, record: StoreRecord) -> Arrays:
    """The arrays, each of the size and the type that are written of it."""
    files = {name: path / f"{name}.npy" for name in record.arrays}
    missing = next((file for file in files.values() if not file.exists()), None)
    if missing is not None:
        raise CorruptFileError(f"{missing}: missing, though {RECORD} lists it")
    with unchanged(files.values()):
        arrays = {name: map_npy(file, "c") for name, file in files.items()}
    for name, array in arrays.items():
        kind, shape = np.dtype({**KINDS, **NAME_KINDS}[name]), tuple(record.arrays[name].shape)
        if array.dtype != kind or array.shape != shape or not array.flags.c_contiguous:
            came = f"{array.dtype} {array.shape}"
            raise CorruptFileError(f"{files[name]}: corrupt, {RECORD} says {kind} {shape}, it holds {came}")
    _check_ends(path, arrays)
    return arrays


def _node_names(arrays: Arrays) -> Numbers | TextArrays:
    if "name_ends" not in arrays:
        return Numbers(len(arrays["labels"]))
    return TextArrays(arrays["name_bytes"], arrays["name_ends"])


def _check_shapes(file: Path, record: StoreRecord) -> None:
    """Do the arrays that are described belong to one graph?"""
    shapes = {name: tuple(array.shape) for name, array in record.arrays.items()}
    count, width = (*shapes.get("features", ()), 0, 0)[:2]
    wanted = {"features": (count, width), "labels": (count,), "indptr": (count + 1,), "name_ends": (count,)}
    known = {*KINDS, *(NAME_KINDS if "name_ends" in shapes else ())}
    wrong = [name for name, shape in shapes.items() if shape != wanted.get(name, (math.prod(shape),))]
    if shapes.keys() != known or wrong or not count or not width or len(record.feature_names) not in (0, width):
        described = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
        raise CorruptFileError(f"{file}: describes no graph, but {brief(described)}")


def _check_ends(path: Path, arrays: Arrays) -> None:
    indptr = arrays["indptr"]
    if indptr[0] != 0 or indptr[-1] != len(arrays["indices"]):
        raise CorruptFileError(f"{path / 'indptr.npy'}: corrupt, it does not describe {len(arrays['indices'])} entries")
    if "name_ends" in arrays and arrays["name_ends"][-1] != len(arrays["name_bytes"]):
        raise CorruptFileError(f"{path / 'name_ends.npy'}: corrupt, it does not describe the names")
