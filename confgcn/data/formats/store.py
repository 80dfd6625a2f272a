"""A memory-mapped graph: a folder of arrays in their final form and ``mapped.json``, which describes them.

Opening one compares the shapes and types of the arrays with the description and reads none of them: a page is read when
it is used. :func:`check_store` reads all of them. The files must not change while the graph is in use.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import torch
from pydantic import BaseModel, ConfigDict, Field

from confgcn.data.formats.array_files import Arrays, map_npy
from confgcn.data.formats.csr_files import checked_entries
from confgcn.data.formats.text_arrays import Numbers, TextArrays
from confgcn.data.input_files import naming, unchanged
from confgcn.exceptions import CorruptFileError, brief
from confgcn.graph import EdgeCounts, Graph
from confgcn.graph.fingerprint import NAME_LENGTH
from confgcn.graph.graph import SPLITS
from confgcn.graph.validation import checked_feature_block, checked_names
from confgcn.io.blocks import blocks_of_rows
from confgcn.io.checksums import digest, file_digest
from confgcn.io.json_files import checked_record, read_checksummed_json
from confgcn.sparse import SparseStructure

RECORD = "mapped.json"
DTYPES: dict[str, npt.DTypeLike] = {
    **dict.fromkeys(("indptr", "indices", "labels", *SPLITS), np.int64),
    "features": np.float32,
}
NAME_DTYPES: dict[str, npt.DTypeLike] = {"name_bytes": np.uint8, "name_ends": np.int64}  # where nodes have names

NonNegative = Annotated[int, Field(ge=0)]


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")


class ArrayRecord(_Strict):
    """The shape of an array, and the SHA-256 of its file."""

    shape: list[NonNegative]
    sha256: str


class StoreRecord(_Strict):
    """The content of ``mapped.json``."""

    name: str
    class_names: list[str]
    feature_names: list[str]
    notices: list[str] = Field(alias="remarks")  # the name in files of earlier versions
    edge_counts: EdgeCounts
    arrays: dict[str, ArrayRecord]


def is_store(path: Path) -> bool:
    """Whether this is the folder of a memory-mapped graph."""
    return (path / RECORD).is_file()


def store_sha256(path: Path) -> str:
    """The checksum of the file that holds the checksums of all arrays: it identifies the graph."""
    return digest((path / RECORD).read_bytes())


def open_store(path: Path) -> Graph:
    """Map the graph in the folder ``path``; what is written to its tensors stays in memory."""
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
        reader_notices=tuple(record.notices),
    )


def read_record(path: Path) -> StoreRecord:
    """The description of the arrays."""
    file = path / RECORD
    record = checked_record(StoreRecord, read_checksummed_json(file), f"{file}: describes no graph")
    with naming(file):
        checked_names(record.class_names, "class", len(record.class_names))
    _check_shapes(file, record)
    return record


def map_arrays(path: Path, record: StoreRecord) -> Arrays:
    """Map the arrays and check that each has the shape and dtype of its description."""
    files = {name: path / f"{name}.npy" for name in record.arrays}
    missing = next((file for file in files.values() if not file.exists()), None)
    if missing is not None:
        raise CorruptFileError(f"{missing}: missing, though {RECORD} lists it")
    with unchanged(files.values()):
        arrays = {name: map_npy(file, "c") for name, file in files.items()}
    for name, array in arrays.items():
        dtype, shape = np.dtype({**DTYPES, **NAME_DTYPES}[name]), tuple(record.arrays[name].shape)
        if array.dtype != dtype or array.shape != shape or not array.flags.c_contiguous:
            found = f"{array.dtype} {array.shape}"
            raise CorruptFileError(f"{files[name]}: corrupt, {RECORD} lists {dtype} {shape}, it holds {found}")
    _check_ends(path, arrays)
    return arrays


def check_store(path: Path) -> None:
    """Read all arrays of a memory-mapped graph and check their checksums and values."""
    record = read_record(path)
    arrays = map_arrays(path, record)
    files = {name: path / f"{name}.npy" for name in arrays}
    with unchanged(files.values()):
        for name, file in files.items():
            if file_digest(file) != record.arrays[name].sha256:
                raise CorruptFileError(f"{file}: corrupt, its checksum does not match")
        _check_entries(path, arrays)
        _check_values(path, arrays, len(record.class_names))
        if "name_ends" in arrays:
            _check_names(path, arrays["name_bytes"], arrays["name_ends"])


def _check_entries(path: Path, arrays: Arrays) -> None:
    """Check the range and order of the indices and the self loops, which kernels rely on without checking."""
    files, num_nodes = (path / "indptr.npy", path / "indices.npy"), len(arrays["labels"])
    blocks = checked_entries(files, arrays["indptr"], arrays["indices"], num_nodes)
    loops = sum(int((source == target).sum()) for target, source in blocks)
    if loops != num_nodes:
        raise CorruptFileError(f"{files[1]}: corrupt, {num_nodes - loops} nodes have no self loop")


def _check_values(path: Path, arrays: Arrays, num_classes: int) -> None:
    labels, features = arrays["labels"], arrays["features"]
    if labels.min() < -1 or labels.max() >= num_classes:
        raise CorruptFileError(f"{path / 'labels.npy'}: corrupt, labels are from -1 to {num_classes - 1}")
    is_in_split = np.zeros(len(labels), dtype=bool)
    for split in SPLITS:
        nodes = arrays[split]
        outside = len(nodes) and (nodes.min() < 0 or nodes.max() >= len(labels) or (np.diff(nodes) <= 0).any())
        if outside or (labels[nodes] < 0).any() or is_in_split[nodes].any():
            raise CorruptFileError(
                f"{path / f'{split}.npy'}: corrupt, expected sorted labelled nodes, each in one split"
            )
        is_in_split[nodes] = True
    with naming(path / "features.npy"):
        for rows in blocks_of_rows(*features.shape):
            checked_feature_block(features[rows], rows.start)


def _check_names(path: Path, content: Any, ends: Any) -> None:
    texts = TextArrays(content, ends)
    if (np.diff(ends, prepend=0) < 0).any():
        raise CorruptFileError(f"{path / 'name_ends.npy'}: corrupt, it does not describe the names")
    try:
        for rows in blocks_of_rows(len(ends), NAME_LENGTH):
            texts[rows]
    except UnicodeDecodeError:
        raise CorruptFileError(f"{path / 'name_bytes.npy'}: corrupt, the names are not UTF-8") from None


def _node_names(arrays: Arrays) -> Numbers | TextArrays:
    if "name_ends" not in arrays:
        return Numbers(len(arrays["labels"]))
    return TextArrays(arrays["name_bytes"], arrays["name_ends"])


def _check_shapes(file: Path, record: StoreRecord) -> None:
    """Check that the described arrays form one graph."""
    shapes = {name: tuple(array.shape) for name, array in record.arrays.items()}
    count, width = (*shapes.get("features", ()), 0, 0)[:2]
    expected = {"features": (count, width), "labels": (count,), "indptr": (count + 1,), "name_ends": (count,)}
    known = {*DTYPES, *(NAME_DTYPES if "name_ends" in shapes else ())}
    wrong = [name for name, shape in shapes.items() if shape != expected.get(name, (math.prod(shape),))]
    if shapes.keys() != known or wrong or not count or not width or len(record.feature_names) not in (0, width):
        described = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
        raise CorruptFileError(f"{file}: describes no graph, but {brief(described)}")


def _check_ends(path: Path, arrays: Arrays) -> None:
    indptr = arrays["indptr"]
    if indptr[0] != 0 or indptr[-1] != len(arrays["indices"]):
        raise CorruptFileError(f"{path / 'indptr.npy'}: corrupt, it does not describe {len(arrays['indices'])} entries")
    if "name_ends" in arrays and arrays["name_ends"][-1] != len(arrays["name_bytes"]):
        raise CorruptFileError(f"{path / 'name_ends.npy'}: corrupt, it does not describe the names")
