"""Matrices of features: any kind of number, damaged sparse ones, too many columns, more bytes than a file can hold."""

from __future__ import annotations

import io
import resource
import shutil
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from confgcn.data.formats.array_files import CSR_KEYS
from confgcn.models.base import Shape
from confgcn.runs.search import MOST_MEMBERS
from confgcn.runs.settings import resolve

if TYPE_CHECKING:
    from tests.faults.conftest import Outside, Tables

# Whole numbers that every kind holds, mostly zeros, so that they are kept as a sparse matrix.
X = np.zeros((8, 12))
X[range(8), [0, 0, 1, 5, 9, 9, 10, 5]] = 1
IDS = np.array(list("abcdefgh"))
WITH_MATRIX = ("--features", "features.npz")
MOST_BYTES = 3 * 2**30  # that a process may take which reads a file of a few kilobytes


def archive(**arrays: Any) -> bytes:
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


def sparse_archive(matrix: Any, **altered: Any) -> bytes:
    """A sparse matrix as scipy saves it, but for these arrays."""
    stored = sp.csr_matrix(matrix)
    parts = {part: np.asarray(getattr(stored, part)) for part in CSR_KEYS}
    return archive(**{**parts, "ids": IDS, **altered})


def without_columns(tables: Tables) -> None:
    """A table of nodes with ids, labels and split alone."""
    tables.write("nodes.csv", "".join(",".join(row.split(",")[:3]) + "\n" for row in tables.nodes.split()))


def result_with(tables: Tables, features: bytes) -> bytes:
    tables.write("features.npz", features)
    without_columns(tables)
    tables.train(*WITH_MATRIX, "--overwrite")
    return tables.result()[0]


@pytest.fixture(scope="module")
def trained(tables_before: Tables) -> dict[str, Path]:
    """A run on two columns of a table, and one on a matrix of twelve."""
    run = tables_before.folder / "run"
    tables_before.train()
    on_columns = run.rename(run.with_name("on_columns"))
    result_with(tables_before, archive(features=X, ids=IDS))
    return {"columns": on_columns, "matrix": run}


@pytest.mark.fault("X10")
def test_every_kind_of_number_gives_the_same_predictions(tables: Tables) -> None:
    expected = result_with(tables, archive(features=X.astype(np.float32), ids=IDS))
    for kind in ("f2", "f8", "i1", "?", ">f4"):
        assert result_with(tables, archive(features=X.astype(kind), ids=IDS)) == expected, kind
    assert result_with(tables, archive(features=np.asfortranarray(X), ids=IDS)) == expected


@pytest.mark.fault("X10", "X13")
def test_every_kind_of_number_and_index_of_a_sparse_matrix_gives_the_same_predictions(tables: Tables) -> None:
    expected = result_with(tables, archive(features=X.astype(np.float32), ids=IDS))
    stored = sp.csr_matrix(X)
    for kind in ("f2", "i1", "?", ">f8"):
        assert result_with(tables, sparse_archive(X, data=stored.data.astype(kind))) == expected, kind
    for kind in ("u1", ">i8"):
        altered = {part: getattr(stored, part).astype(kind) for part in ("indices", "indptr")}
        assert result_with(tables, sparse_archive(X, **altered)) == expected, kind


@pytest.mark.fault("X10", "X14")
def test_every_kind_of_number_is_accepted_for_new_nodes(tables: Tables, trained: dict[str, Path]) -> None:
    shutil.copytree(trained["matrix"], tables.folder / "run")
    tables.write("new_edges.csv", "source,target\nz,a\n")
    tables.write("new_nodes.csv", "id\nz\n")
    written = set()
    for kind in ("f4", ">f2"):
        tables.write("new.npz", archive(features=X[:1].astype(kind), ids=np.array(["z"])))
        words = ("--edges", "new_edges.csv", "--nodes", "new_nodes.csv", "--features", "new.npz", "--overwrite")
        tables.accepts("predict", "run", *words)
        written.add((tables.folder / "run" / "new_nodes.csv").read_bytes())
    assert len(written) == 1


@pytest.mark.fault("X12")
@pytest.mark.skipif(not Path("/proc/self/status").is_file(), reason="there is no /proc to read the memory from")
@pytest.mark.parametrize("preset", ["propagated", "consensus"])
def test_a_million_columns_stay_sparse(outside: Outside, preset: str) -> None:
    """Of 600 nodes: as an array the features alone would take 2.4 GB, and twice that as they are read."""
    peaks = []
    nodes = "".join(f"{node},{'pq'[node % 2] if node < 40 else ''}\n" for node in range(600))
    outside.write("nodes.csv", f"id,label\n{nodes}")
    outside.write("edges.csv", "source,target\n" + "".join(f"{node},{node + 1}\n" for node in range(599)))
    for columns in (1_000, 1_000_000):
        places = np.random.default_rng(0).integers(columns, size=6_000)
        matrix = sp.csr_matrix((np.ones(6_000), places, np.arange(601) * 10), shape=(600, columns))
        outside.write("features.npz", sparse_archive(matrix, ids=np.arange(600)))
        words = ("--edges", "edges.csv", "--nodes", "nodes.csv", *WITH_MATRIX, "--validation", 0.5, "--epochs", 2)
        options = ("--preset", preset, "--set", "hidden_dim=4", "--out", str(columns))
        peaks.append(outside.start("train", *words, *options).peak())
    weights = 1_000_000 * 4 * 4 / 1024  # of the first layer, in kilobytes
    assert peaks[1] - peaks[0] < 20 * weights + kilobytes_of_candidates(preset)


def kilobytes_of_candidates(preset: str) -> float:
    """A search keeps the trained candidates, and as many again as are trained with learned influence."""
    settings = resolve("confgcn", preset, "", {"hidden_dim": 4})
    shape = Shape(num_nodes=600, num_features=1_000_000, num_classes=2)
    with torch.device("meta"):
        methods = [settings.method_class(shape, **each.applied_to(settings).model) for each in settings.candidates]
    sizes = sorted(sum(tensor.nbytes for tensor in method.state_dict().values()) for method in methods)
    return sum(sizes + sizes[-MOST_MEMBERS:]) / 1024


@pytest.mark.fault("X13")
def test_duplicate_entries_are_added_and_their_order_does_not_matter(tables: Tables) -> None:
    whole = np.zeros((8, 12), dtype=np.float32)
    whole[0, 3], whole[0, 1], whole[7, 0] = 200, 7, 1
    expected = result_with(tables, archive(features=whole, ids=IDS))
    places = {"indices": np.array([3, 1, 3, 0]), "indptr": np.array([0, *[3] * 7, 4])}
    for kind in ("f4", "i1"):  # a number of eight bits cannot hold the sum
        data = np.array([100, 7, 100, 1], dtype=kind)
        assert result_with(tables, sparse_archive(whole, data=data, **places)) == expected, kind


@pytest.mark.fault("X13", "X02")
def test_duplicate_entries_whose_sum_is_not_finite_are_named_by_row_and_column(tables: Tables) -> None:
    parts = {
        "data": np.array([1.0, 3e38, 3e38]),
        "indices": np.array([1, 4, 4]),
        "indptr": np.array([0, *[0] * 6, 1, 3]),
    }
    tables.write("features.npz", sparse_archive(X, **parts))
    tables.refuses_to_train(
        *WITH_MATRIX, naming=["features.npz: row 7, column 4 is 6e+38, which is not a finite float32"]
    )


@pytest.mark.fault("X13")
@pytest.mark.parametrize(
    ("altered", "problem"),
    [
        ({"indices": np.full(8, 12)}, "column indices must be from 0 to 11, got 12 to 12"),
        ({"indices": np.arange(8) - 1}, "column indices must be from 0 to 11, got -1 to 6"),
        ({"indices": np.full(8, 2**62)}, "column indices must be from 0 to 11, got 4611686018427387904"),
        (
            {"indices": np.full(8, 2**63, dtype=np.uint64)},
            "column indices must be from 0 to 11, got 9223372036854775808",
        ),
        ({"indices": np.zeros(8)}, "row pointers and column indices must be integers"),
        ({"indices": np.zeros((8, 1), dtype=int)}, "indices must be a row of numbers, got the shape (8, 1)"),
        ({"indices": np.zeros(7, dtype=int)}, "the row pointers do not describe 8 rows of 7 entries"),
        ({"indptr": np.array([0, 1, 3, 2, 4, 5, 6, 7, 8])}, "the row pointers of 8 rows decrease in row 2"),
        ({"indptr": np.array([0, *[2**40] * 7, 8])}, "the row pointers of 8 rows decrease in row 7"),
        ({"indptr": np.arange(9) + 1}, "the row pointers do not describe 8 rows of 8 entries"),
        ({"indptr": np.arange(8)}, "the row pointers do not describe 8 rows of 8 entries"),
        ({"indptr": np.arange(9) * 2}, "the row pointers do not describe 8 rows of 8 entries"),
        ({"data": np.ones(7)}, "8 column indices but 7 values"),
        ({"data": np.ones((8, 1))}, "data must be a row of numbers, got the shape (8, 1)"),
        ({"shape": np.array([-8, 12])}, "the row pointers do not describe -8 rows"),
        ({"shape": np.array([10**12, 12])}, "the row pointers do not describe 1000000000000 rows"),
        ({"shape": np.array([8, 10**12])}, "1,000,000,000,000 columns, more than the 10,000,000 that are read"),
        ({"shape": np.array([8, 12, 1])}, "shape has 3 numbers, expected 2"),
        ({"shape": np.array([8.0, 12.0])}, "shape has 2 numbers, expected 2 whole ones, got float64"),
        ({"format": np.array(b"csc")}, "the sparse matrix is stored as csc; save it as csr"),
    ],
)
def test_a_sparse_matrix_with_indices_out_of_bounds_is_refused(
    tables: Tables, altered: dict[str, Any], problem: str
) -> None:
    tables.write("features.npz", sparse_archive(X, **altered))
    tables.refuses_to_train(*WITH_MATRIX, naming=[f"features.npz: {problem}"])


@pytest.mark.fault("X14")
@pytest.mark.parametrize(
    ("nodes", "naming"),
    [
        ("id,width\nz,1\n", ["trained with 2 features, this table gives 1", "missing: 'height'"]),
        ("id\nz\n", ["trained with 2 features, this table gives 0", "missing: 'height', 'width'"]),
        (
            "id,width,height,depth\nz,1,1,1\n",
            ["trained with 2 features, this table gives 3", "not in training: 'depth'"],
        ),
        ("id,width,Height\nz,1,1\n", ["missing: 'height'", "not in training: 'Height'"]),
        ("id,width,height\nz,1,high\n", ["line 2, column 'height': expected a number, as in training, got 'high'"]),
        ("id,width,height\nz,1,\n", ["line 2, column 'height': there is no number"]),
        ("id,width,height\nz,1,inf\n", ["line 2, column 'height': inf is not a finite float32"]),
    ],
)
def test_new_nodes_with_other_columns_are_refused_with_both_numbers(
    tables: Tables, trained: dict[str, Path], nodes: str, naming: list[str]
) -> None:
    shutil.copytree(trained["columns"], tables.folder / "run")
    tables.write("new_nodes.csv", nodes)
    tables.write("new_edges.csv", "source,target\nz,a\n")
    words = ("--edges", "new_edges.csv", "--nodes", "new_nodes.csv", "--out", "new.csv")
    tables.refuses("predict", "run", *words, code=3, naming=["new_nodes.csv", *naming])


@pytest.mark.fault("X14")
@pytest.mark.parametrize(
    ("features", "naming"),
    [
        (np.ones((1, 13)), ["new.npz: 13 features, but the model was trained with 12", "'f12'"]),
        (sp.csr_matrix(np.ones((1, 15))), ["new.npz: 15 features, but the model was trained with 12"]),
        (np.ones((1, 11)), ["trained with 12 features", "the matrix 11", "missing: 'f11'"]),
        (np.ones((2, 12)), ["new.npz: 1 ids, but the features have the shape (2, 12)"]),
        (None, ["trained with 12 features, this table gives 0"]),
    ],
    ids=["one more", "three more", "one fewer", "a row more", "none"],
)
def test_new_nodes_with_other_matrices_are_refused_with_both_numbers(
    tables: Tables, trained: dict[str, Path], features: Any, naming: list[str]
) -> None:
    shutil.copytree(trained["matrix"], tables.folder / "run")
    tables.write("new_nodes.csv", "id\nz\n")
    tables.write("new_edges.csv", "source,target\nz,a\n")
    if features is not None:
        ids = np.array(["z"])
        sparse = sp.issparse(features)
        tables.write("new.npz", sparse_archive(features, ids=ids) if sparse else archive(features=features, ids=ids))
    words = ("--edges", "new_edges.csv", "--nodes", "new_nodes.csv", "--out", "new.csv")
    matrix = () if features is None else ("--features", "new.npz")
    tables.refuses("predict", "run", *words, *matrix, code=3, naming=naming)


def header(shape: tuple[int, ...], kind: str = "<f8") -> bytes:
    """What a file of such an array begins with."""
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, {"descr": kind, "fortran_order": False, "shape": shape})
    return stream.getvalue()


def packed(**entries: bytes) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries.items():
            archive.writestr(f"{name}.npy", content)
    return stream.getvalue()


CLAIMS = {
    "80 TB": (header((10**13, 1)) + bytes(100), "claims 80000000000000 bytes for the shape (10000000000000, 1)"),
    "a number too large": (header((2**62, 2**62)) + bytes(100), "bytes for the shape"),
    "more columns than bytes": (header((8, 10**12)) + bytes(64), "claims 64000000000000 bytes"),
    "values of no bytes": (header((10**15, 1), "|V0") + bytes(16), "for the shape (1000000000000000, 1)"),
    "less than there is": (header((8, 2)) + bytes(1000), "claims 128 bytes for the shape (8, 2), the file holds 1000"),
    "negative": (header((-8, -2)) + bytes(128), "features"),
}


@pytest.mark.fault("X15")
@pytest.mark.parametrize("claim", CLAIMS)
@pytest.mark.parametrize("name", ["features.npy", "features.npz"])
def test_a_header_that_claims_more_than_the_file_holds_is_refused_at_once(
    tables: Tables, name: str, claim: str
) -> None:
    content, problem = CLAIMS[claim]
    tables.write(name, content if name.endswith("npy") else packed(features=content))
    limits = {resource.RLIMIT_AS: MOST_BYTES}
    tables.refuses_to_train("--features", name, naming=[f"{name}:", problem], limits=limits)


@pytest.mark.fault("X15")
@pytest.mark.parametrize(
    "names", [("features",), CSR_KEYS, tuple(f"{prefix}_{part}" for prefix in ("adj", "attr") for part in CSR_KEYS)]
)
def test_an_archive_that_would_expand_a_thousandfold_is_refused_at_once(tables: Tables, names: tuple[str, ...]) -> None:
    entries = {**dict.fromkeys((*names, "labels"), b""), names[0]: header((8, 10**6)) + bytes(2**26)}
    bomb = packed(**entries)
    tables.write("features.npz", bomb)
    assert len(bomb) < 100_000
    words = ("features.npz",) if "adj_data" in names else (*tables.words, *WITH_MATRIX)
    naming = ["features.npz:", "bytes would expand to 67", "which no graph's data do"]
    tables.refuses("train", *words, "--out", "run", code=3, naming=naming, limits={resource.RLIMIT_AS: MOST_BYTES})


@pytest.mark.fault("X15")
def test_an_archive_with_a_wrong_size_in_its_header_is_refused(tables: Tables) -> None:
    whole = header((8, 2)) + bytes(2**26)
    size, forged = (length.to_bytes(4, "little") for length in (len(whole), len(header((8, 2))) + 128))
    bomb = packed(features=whole)
    assert bomb.count(size) == 2
    tables.write("features.npz", bomb.replace(size, forged))
    naming = ["features.npz: not a readable npz archive"]
    tables.refuses_to_train(*WITH_MATRIX, naming=naming, limits={resource.RLIMIT_AS: MOST_BYTES})
