"""Arguments of the compiled kernels are checked: wrong devices, types and shapes are named."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from confgcn.kernels import compiled, library
from confgcn.sparse import SparseStructure

pytestmark = pytest.mark.skipif(not library.available(), reason=library.why_not())

NUMBERS = (0.9, 0.999, 0.01, 0.5, 1e-8, 0.0)
OPTIONS = {"propagation_rows": {"width": 2, "kept": 4}}


def structure(index_type: torch.dtype = torch.long) -> SparseStructure:
    """Three targets, four entries, two sources; ``square`` adds an empty third column."""
    return SparseStructure(
        torch.tensor([0, 2, 3, 4], dtype=index_type), torch.tensor([0, 1, 1, 0], dtype=index_type), (3, 2)
    )


def square() -> SparseStructure:
    rectangle = structure()
    return SparseStructure(rectangle.indptr, rectangle.indices, (3, 3))


def places(indptr: list[int], indices: list[int]) -> SparseStructure:
    return SparseStructure(torch.tensor(indptr), torch.tensor(indices), (2, 2))


def nodes(*numbers: int, dtype: torch.dtype = torch.int32) -> Tensor:
    return torch.tensor([numbers], dtype=dtype)


def ones(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.ones(shape, dtype=dtype)


def doubles(*shape: int) -> Tensor:
    return ones(*shape, dtype=torch.float64)


WRONG: dict[str, tuple[str, tuple[Any, ...], str]] = {
    "a value too few": ("sum_rows", (structure(), ones(3)), r"\(4,\) or \(4, heads\), one per entry, got \(3,\)"),
    "a value too many for softmax": ("softmax", (structure(), ones(5)), r"one per entry, got \(5,\)"),
    "values of three dimensions": ("softmax", (structure(), ones(4, 2, 2)), r"one per entry, got \(4, 2, 2\)"),
    "weights unlike gradient": ("softmax_gradient", (structure(), ones(4), ones(4, 2)), r"\(4,\).*\(4, 2\)"),
    "weights of another type": ("softmax_gradient", (structure(), ones(4), doubles(4)), "float32.*float64"),
    "dense softmax of other widths": ("dense_softmax_gradient", (ones(3, 2), ones(2, 3)), r"\(3, 2\).*\(2, 3\)"),
    "dense softmax of a vector": ("dense_softmax", (ones(3),), r"\(3,\)"),
    "dense softmax of three dimensions": ("dense_softmax", (ones(3, 2, 2),), r"\(3, 2, 2\)"),
    "factor with too few rows": ("multiply", (structure(), ones(4), ones(1, 5)), r"\(2, width\), got \(1, 5\)"),
    "factor with too many rows": ("multiply", (structure(), ones(4), ones(3, 5)), r"\(2, width\), got \(3, 5\)"),
    "factor without columns": ("multiply", (structure(), ones(4), ones(2)), r"\(2,\)"),
    "factor of another type": ("multiply", (structure(), ones(4), doubles(2, 5)), "float32.*float64"),
    "heads unlike": ("multiply", (structure(), ones(4, 3), ones(2, 2, 5)), r"\(2, 3, width\), got \(2, 2, 5\)"),
    "one head against three": (
        "multiply",
        (structure(), ones(4, 1), ones(2, 3, 5)),
        r"\(2, 1, width\), got \(2, 3, 5\)",
    ),
    "transposed, rows of the wrong side": (
        "multiply_transposed",
        (structure(), ones(4), ones(2, 5)),
        r"\(3, width\), got \(2, 5\)",
    ),
    "left factor too short": (
        "entry_products",
        (structure(), ones(2, 5), ones(2, 5)),
        r"left: expected \(3, width\).*got \(2, 5\)",
    ),
    "factors of two widths": (
        "entry_products",
        (structure(), ones(3, 5), ones(2, 4)),
        r"right: expected \(2, 5\), got \(2, 4\)",
    ),
    "factors of two types": ("entry_products", (structure(), ones(3, 5), doubles(2, 5)), "float32.*float64"),
    "factors without columns": ("entry_products", (structure(), ones(3), ones(2)), r"\(3,\)"),
    "factors of four dimensions": ("entry_products", (structure(), ones(3, 1, 1, 5), ones(2, 1, 1, 5)), r"\(3, 1, 1"),
    "distance on what is not square": ("edge_distance", (structure(), ones(3, 2), ones(3, 2)), r"\(3, 2\)"),
    "mu with too few rows": ("edge_distance", (square(), ones(2, 4), ones(2, 4)), r"\(3, 3\).*\(2, 4\)"),
    "mu of one dimension": ("edge_distance", (square(), ones(3), ones(3)), r"\(3,\)"),
    "mu unlike precision": ("edge_distance", (square(), ones(3, 4), ones(3, 5)), r"\(3, 4\).*\(3, 5\)"),
    "mu of another type": ("edge_distance", (square(), ones(3, 4), doubles(3, 4)), "float32.*float64"),
    "gradient too short": ("edge_distance_gradient", (square(), ones(3, 4), ones(3, 4), ones(3)), r"\(3,\)"),
    "gradient with heads": ("edge_distance_gradient", (square(), ones(3, 4), ones(3, 4), ones(4, 2)), r"\(4, 2\)"),
    "gradient of another type": ("edge_distance_gradient", (square(), ones(3, 4), ones(3, 4), doubles(4)), "float64"),
    "Adam, gradient unlike": ("adam_step", (ones(4), ones(3), ones(4), ones(4), NUMBERS), r"\(4,\).*\(3,\)"),
    "Adam, gradient of another type": ("adam_step", (ones(4), doubles(4), ones(4), ones(4), NUMBERS), "float64"),
    "Adam, mean too short": ("adam_step", (ones(4), ones(4), ones(3), ones(4), NUMBERS), r"\(4,\).*\(3,\)"),
    "Adam, square of another type": ("adam_step", (ones(4), ones(4), ones(4), doubles(4), NUMBERS), "float64"),
    "Adam, weight in pieces": (
        "adam_step",
        (ones(4, 2).T, ones(2, 4), ones(2, 4), ones(2, 4), NUMBERS),
        "weight: expected a contiguous",
    ),
    "a walk on what is not square": ("propagation_rows", (structure(), ones(4), [1.0], range(1)), r"square.*\(3, 2\)"),
    "a walk with a value too few": ("propagation_rows", (square(), ones(3), [1.0], range(1)), r"\(4,\), got \(3,\)"),
    "a walk with heads": ("propagation_rows", (square(), ones(4, 1), [1.0], range(1)), r"\(4,\), got \(4, 1\)"),
    "a walk with negative values": ("propagation_rows", (square(), -ones(4), [1.0], range(1)), "below 0, got -1.0"),
    "a walk with values that are no numbers": (
        "propagation_rows",
        (square(), ones(4) * float("nan"), [1.0], range(1)),
        "below 0, got nan",
    ),
    "a walk without coefficients": (
        "propagation_rows",
        (square(), ones(4), [], range(1)),
        "at least 1, got 2, 4 and 0",
    ),
    "a walk from beyond the rows": (
        "propagation_rows",
        (square(), ones(4), [1.0], range(2, 4)),
        r"from 0 to 3, got range\(2, 4\)",
    ),
    "a walk from before the rows": (
        "propagation_rows",
        (square(), ones(4), [1.0], range(-1, 2)),
        r"got range\(-1, 2\)",
    ),
    "a walk from every other row": ("propagation_rows", (square(), ones(4), [1.0], range(0, 3, 2)), "range of step 1"),
    "sums of too few values": ("sum_feature_rows", (structure(), ones(3), nodes(0), ones(1, 1)), r"\(4,\), got \(3,\)"),
    "sums with weights of another type": (
        "sum_feature_rows",
        (structure(), ones(4), nodes(0), doubles(1, 1)),
        "float32.*float64",
    ),
    "sums with a weight too many": (
        "sum_feature_rows",
        (structure(), ones(4), nodes(0), ones(1, 2)),
        r"nodes: expected \(1, 2\), as the weights, got \(1, 1\)",
    ),
    "sums of a row beyond the last": (
        "sum_feature_rows",
        (structure(), ones(4), nodes(0, 3), ones(1, 2)),
        "nodes: expected numbers from 0 to 2, got 0 to 3",
    ),
    "sums of a row before the first": (
        "sum_feature_rows",
        (structure(), ones(4), nodes(-1), ones(1, 1)),
        "from 0 to 2, got -1 to -1",
    ),
    "sums of rows of 64 bits": (
        "sum_feature_rows",
        (structure(), ones(4), nodes(0, dtype=torch.long), ones(1, 1)),
        "nodes: expected int32, got torch.int64",
    ),
    "half precision": (
        "sum_rows",
        (structure(), ones(4, dtype=torch.float16)),
        "float32 or float64, got torch.float16",
    ),
    "whole numbers": ("drop", (ones(4, dtype=torch.long), 0, 0, 1, 1.0), "float32 or float64, got torch.int64"),
    "whole numbers, finite?": ("all_finite", (ones(4, dtype=torch.long),), "float32 or float64, got torch.int64"),
    "an entry beyond the columns": ("sum_rows", (places([0, 1, 2], [0, 2]), ones(2)), "from 0 to 1, got 0 to 2"),
    "an entry before the columns": ("sum_rows", (places([0, 1, 2], [0, -1]), ones(2)), "from 0 to 1, got -1 to 0"),
    "a structure with gaps": (
        "sum_rows",
        (SparseStructure(torch.tensor([0, 9, 1, 9, 2])[::2], torch.tensor([0, 1]), (2, 2)), ones(2)),
        "expected contiguous tensors, got strides",
    ),
    "rows that go back": ("sum_rows", (places([0, 3, 2], [0, 1]), ones(2)), "2 entries into 2 rows"),
    "a row too few": ("sum_rows", (places([0, 2], [0, 1]), ones(2)), "2 entries into 2 rows"),
    "entries of no row": ("sum_rows", (places([0, 1, 1], [0, 1]), ones(2)), "2 entries into 2 rows"),
    "indices of 32 bits": ("sum_rows", (structure(torch.int32), ones(4)), "int64.*int32"),
}


@pytest.mark.parametrize(("function", "arguments", "message"), WRONG.values(), ids=WRONG.keys())
def test_a_wrong_shape_or_type_is_refused_by_name(function: str, arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        getattr(compiled, function)(*arguments, **OPTIONS.get(function, {}))


@pytest.mark.parametrize("options", [{"width": 0, "kept": 4}, {"width": 2, "kept": 0}], ids=str)
def test_rows_of_no_entries_are_refused(options: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=f"at least 1, got {options['width']}, {options['kept']} and 1"):
        compiled.propagation_rows(square(), ones(4), [1.0], range(3), **options)


def test_a_wrong_type_is_no_error_of_shape() -> None:
    with pytest.raises(TypeError, match=r"gradient: expected torch\.float32, as the other tensors, got torch\.float64"):
        compiled.edge_distance_gradient(square(), ones(3, 4), ones(3, 4), doubles(4))
    with pytest.raises(TypeError, match=r"dense: expected torch\.float32, as the other tensors, got torch\.float64"):
        compiled.multiply(structure(), ones(4), doubles(2, 5))


ON_CPU = {
    "edge_distance": (square(), ones(3, 4), ones(3, 4)),
    "edge_distance_gradient": (square(), ones(3, 4), ones(3, 4), ones(4)),
    "softmax": (structure(), ones(4)),
    "softmax_gradient": (structure(), ones(4), ones(4)),
    "dense_softmax": (ones(3, 2),),
    "dense_softmax_gradient": (ones(3, 2), ones(3, 2)),
    "sum_rows": (structure(), ones(4)),
    "multiply": (structure(), ones(4), ones(2, 5)),
    "multiply_transposed": (structure(), ones(4), ones(3, 5)),
    "entry_products": (structure(), ones(3, 5), ones(2, 5)),
    "drop": (ones(4), 0, 0, 1, 1.0),
    "all_finite": (ones(4),),
    "adam_step": (ones(4), ones(4), ones(4), ones(4), NUMBERS),
    "propagation_rows": (square(), ones(4), [1.0], range(3)),
    "sum_feature_rows": (structure(), ones(4), nodes(0, 1), ones(1, 2)),
}


@pytest.mark.parametrize("name", ON_CPU)
def test_tensors_on_another_device_are_refused(name: str) -> None:
    """The meta device stands for any that is not the CPU: its tensors have no memory to read."""
    given = ON_CPU[name]
    for place, argument in enumerate(given):
        if isinstance(argument, Tensor):
            moved = (*given[:place], argument.to("meta"), *given[place + 1 :])
            with pytest.raises(TypeError, match="need tensors on the CPU, got one on meta"):
                getattr(compiled, name)(*moved, **OPTIONS.get(name, {}))


def test_a_structure_on_another_device_is_refused() -> None:
    with pytest.raises(TypeError, match="structure: compiled kernels need tensors on the CPU, got one on meta"):
        compiled.sum_rows(structure().to("meta"), ones(4))
