"""Features that are missing, not finite, constant, of another number or kind, or of a million columns."""

from __future__ import annotations

import io
import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

if TYPE_CHECKING:
    from tests.faults.conftest import Tables

X = np.array([[1, 0], [1, 0.5], [0.5, 1], [0.25, 2], [0, 2.5], [0, 2], [0, 3], [0.5, 2]])
IDS = np.array(list("abcdefgh"))
WITH_MATRIX = ("--features", "features.npz")


def archive(**arrays: Any) -> bytes:
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


def array(values: Any) -> bytes:
    stream = io.BytesIO()
    np.save(stream, values)
    return stream.getvalue()


def with_cell(tables: Tables, cell: str) -> None:
    """Another number in the sixth line, in the column of the width."""
    tables.write("nodes.csv", tables.nodes.replace("e,q,train,0,2.5", f"e,q,train,{cell},2.5"))


def with_columns(tables: Tables, *columns: list[float]) -> None:
    """These columns, and no others, beside the labels."""
    rows = [row.split(",")[:3] for row in tables.nodes.split()]
    more = [[f"x{place}", *column] for place, column in enumerate(columns)]
    cells = [[*row, *(str(column[line]) for column in more)] for line, row in enumerate(rows)]
    tables.write("nodes.csv", "".join(",".join(row) + "\n" for row in cells))


def probabilities(tables: Tables) -> list[float]:
    return [float(row["probability"]) for row in tables.predictions().values()]


@pytest.mark.fault("X01")
@pytest.mark.parametrize("gap", ["nan", "NaN", "-nan", "", "NA", "n/a", "null", "None", "?", "-", "#N/A", "  "])
def test_a_gap_among_numbers_is_named_by_line_and_column(tables: Tables, gap: str) -> None:
    with_cell(tables, gap)
    tables.refuses_to_train(naming=["nodes.csv, line 6, column 'width': there is no number (1 such rows)", "--impute"])


@pytest.mark.fault("X01")
def test_gaps_are_filled_on_request(tables: Tables) -> None:
    with_cell(tables, "NA")
    assert "note: nodes.csv: column 'width': 1 gaps filled with the mean, 0.464286" in tables.train("--impute").errors
    assert "1 gaps filled with the mean" in (tables.folder / "run" / "environment.json").read_text(encoding="utf-8")


@pytest.mark.fault("X01", "X02")
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e39, -3.5e38])
def test_a_number_of_a_matrix_that_is_not_finite_is_named_by_row_and_column(tables: Tables, value: float) -> None:
    features = X.copy()
    features[3, 1] = features[6, 0] = value
    tables.write("features.npz", archive(features=features, ids=IDS))
    naming = [f"features.npz: row 3, column 1 is {value}", "not a finite float32 (2 such values)"]
    tables.refuses_to_train(*WITH_MATRIX, naming=naming)
    if np.isnan(value):
        assert "2 missing features set to the mean" in tables.train(*WITH_MATRIX, "--impute").errors
    else:
        tables.refuses_to_train(*WITH_MATRIX, "--impute", naming=naming)


@pytest.mark.fault("X02")
@pytest.mark.parametrize("value", ["inf", "-Infinity", "1e39", "-1e39", "3.4028236e38", "1e400", "9" * 400])
def test_a_number_too_large_for_float32_is_refused_even_where_gaps_are_filled(tables: Tables, value: str) -> None:
    with_cell(tables, value)
    naming = ["nodes.csv, line 6, column 'width'", "is not a finite float32 (1 such values)", "--ignore width"]
    tables.refuses_to_train(naming=naming)
    tables.refuses_to_train("--impute", naming=naming)


@pytest.mark.fault("X02")
def test_a_number_may_be_written_in_many_ways(tables: Tables, plain: tuple[bytes, str]) -> None:
    """As -0 or below any float32, with signs, spaces, exponents, thousands of digits, or digits of another script."""
    cells = [" 1 ", "+1.", "5e-1", "2.5E-1", "-0", "1e-60", "0" * 5000, "." + "5".ljust(5000, "0")]
    rows = [row.split(",") for row in tables.nodes.split()]
    written = [rows[0], *([*row[:3], cell, row[4]] for row, cell in zip(rows[1:], cells, strict=True))]
    text = "".join(",".join(row) + "\n" for row in written)
    tables.write("nodes.csv", text.replace(",3\n", ",٣\n").replace(",2.5\n", ",２.５\n"))
    tables.train()
    assert tables.result()[0] == plain[0]


@pytest.mark.fault("X02", "X09")
@pytest.mark.parametrize("cell", ["1_000", "0x1F", "1e", "$5", "1/2", "1;2", "1\u00a0000", "True"])
def test_a_word_among_numbers_is_pointed_out(tables: Tables, cell: str) -> None:
    with_cell(tables, cell)
    ended = tables.accepts("inspect", *tables.words)
    shown = cell.replace("\u00a0", "\\xa0")
    assert "column 'width' is read as a category, but most of its values are numbers" in ended.out
    assert f"'{shown}' in line 6 is not" in ended.out


@pytest.mark.fault("X02")
def test_a_decimal_comma_is_pointed_out(tables: Tables) -> None:
    with_cell(tables, '"1,5"')
    assert "numbers with a decimal comma; write a point" in tables.accepts("inspect", *tables.words).out


@pytest.mark.fault("X04", "X05")
@pytest.mark.parametrize(
    ("columns", "notices"),
    [
        ([[1, 1, 0, 0, 2, 2, 1, 0], [0, 0, 0, 0, 1, 1, 3, 0]], ["3 nodes have no feature other than zero"]),
        ([[1, 2, 1, 1, 2, 2, 1, 4], [0] * 8], ["1 feature columns are the same for every node"]),
        ([[1, 2, 1, 1, 2, 2, 1, 4], [7] * 8], ["1 feature columns are the same for every node"]),
        ([[0.1] * 8, [-7e30] * 8], ["2 feature columns are the same for every node"]),
        ([[0] * 8, [0] * 8], ["8 nodes have no feature other than zero", "2 feature columns are the same"]),
        ([[3e38, -3e38] * 4, [1e-45, 0] * 4], []),
    ],
    ids=["zero rows", "a zero column", "a constant column", "all constant", "all zero", "as large and small as can be"],
)
def test_constant_features_are_counted_and_give_no_nan(
    tables: Tables, columns: list[list[float]], notices: list[str]
) -> None:
    with_columns(tables, *columns)
    ended = tables.train()
    assert all(f"note: {notice}" in ended.errors for notice in notices), ended.errors
    assert all(0.5 <= value <= 1 for value in probabilities(tables))


@pytest.mark.fault("X04", "X05")
@pytest.mark.parametrize("scaling", ["rows", "unit", "columns", "none"])
def test_no_scaling_divides_by_zero(tables: Tables, scaling: str) -> None:
    with_columns(tables, [1, 1, 0, 0, 2, 2, 1, 0], [0] * 8, [-1, 0, 0, 0, 0, 0, 0, 1])
    tables.train("--set", f"feature_scaling={scaling}")
    assert all(0.5 <= value <= 1 for value in probabilities(tables))


@pytest.mark.fault("X06")
def test_a_graph_without_features_needs_an_explicit_option(tables: Tables) -> None:
    with_columns(tables)
    naming = ["there are no features", "--add-features degree, positional, identity"]
    tables.refuses_to_train(naming=naming)
    tables.refuses_to_train(
        "--features", "identity", code=2, naming=["--features identity: no such file", "--add-features"]
    )
    tables.refuses_to_train("--add-features", "random", code=2, naming=["'random'", "degree, identity, positional"])
    tables.train("--add-features", "degree,identity")
    assert len(probabilities(tables)) == 8


@pytest.mark.fault("X06", "X01")
def test_a_column_without_a_single_number_is_no_feature(tables: Tables) -> None:
    tables.write("nodes.csv", re.sub(r"^([a-h].*),[^,]+,[^,]+$", r"\1,,nan", tables.nodes, flags=re.MULTILINE))
    naming = ["there are no features", "column 'width' is empty: not used", "column 'height' is empty: not used"]
    tables.refuses_to_train("--impute", naming=naming)


@pytest.mark.fault("X07")
@pytest.mark.parametrize(
    ("features", "ids", "problem"),
    [
        (X[:7], IDS[:7], "7 rows of features for 8 nodes; 1 nodes without a row: 'h'"),
        (np.vstack([X, X[:1]]), [*IDS, "z"], "9 rows of features for 8 nodes; 1 rows without a node: 'z'"),
        (X, [*IDS[:7], "H"], "8 rows of features for 8 nodes; 1 nodes without a row: 'h'; 1 rows without a node: 'H'"),
        (X, IDS[:7], "7 ids, but the features have the shape (8, 2)"),
        (X, [*IDS[:7], "a"], "ids: 'a' appears twice"),
        (X, np.arange(8.0), "ids must be a row of texts or whole numbers, got float64"),
        (X[:0], IDS[:0], "0 rows of features for 8 nodes"),
        (X[:, :0], IDS, "expected a matrix with a row per node and 1 to 10,000,000 columns, got (8, 0)"),
        (X[:, 0], IDS, "expected a matrix with a row per node and 1 to 10,000,000 columns, got (8,)"),
        (X[:, :, None], IDS, "expected a matrix with a row per node and 1 to 10,000,000 columns, got (8, 2, 1)"),
    ],
    ids=["fewer", "more", "another", "fewer ids", "an id twice", "fractions", "no rows", "no columns", "1", "3"],
)
def test_rows_that_do_not_fit_the_nodes_are_refused(tables: Tables, features: Any, ids: Any, problem: str) -> None:
    tables.write("features.npz", archive(features=features, ids=np.array(ids)))
    tables.refuses_to_train(*WITH_MATRIX, naming=[f"features.npz: {problem}"])


@pytest.mark.fault("X07")
def test_rows_without_ids_belong_to_nodes_named_by_numbers(tables: Tables) -> None:
    tables.write("features.npy", array(X))
    naming = [
        "features.npy: 8 rows of features for 8 nodes",
        "8 nodes without a row: 'a', 'b', 'c'",
        "add an array ids",
    ]
    tables.refuses_to_train("--features", "features.npy", naming=naming)


@pytest.mark.fault("X09")
@pytest.mark.parametrize("kind", ["complex64", "S5", "U5", "datetime64[s]", "timedelta64[s]", "V8", "f4,f4"])
def test_values_that_are_not_numbers_are_refused_by_type(tables: Tables, kind: str) -> None:
    features = np.zeros((8, 2), dtype=kind)
    tables.write("features.npz", archive(features=features, ids=IDS))
    tables.refuses_to_train(*WITH_MATRIX, naming=[f"features.npz: expected numbers, got {features.dtype}"])
    tables.write("features.npy", array(features))
    tables.refuses_to_train("--features", "features.npy", naming=["features.npy: expected numbers"])


@pytest.mark.fault("X09")
@pytest.mark.parametrize("entry", ["features", "ids"])
@pytest.mark.parametrize("kind", [object, np.dtype([("value", object)])])
def test_objects_are_refused_as_unsafe(tables: Tables, entry: str, kind: Any) -> None:
    arrays: dict[str, Any] = {"features": X, "ids": IDS}
    arrays[entry] = np.zeros(arrays[entry].shape, dtype=kind)
    tables.write("features.npz", archive(**arrays))
    tables.refuses_to_train(*WITH_MATRIX, code=6, naming=[f"features.npz: {entry}.npy is an object array"])
    tables.write("features.npy", array(arrays[entry]))
    tables.refuses_to_train("--features", "features.npy", code=6, naming=["features.npy: is an object array"])
