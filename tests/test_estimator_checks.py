"""scikit-learn's own checks of estimators, as far as they make sense for one that is fitted to a graph.

Most of them fit independent rows. An adapter joins each row to its nearest ones, so that they can be run nevertheless.
"""

# ruff: noqa: N803  (X is what scikit-learn calls features)
from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pytest
import scipy.sparse as sp
from sklearn.utils import Tags, estimator_checks, get_tags
from sklearn.utils.estimator_checks import estimator_checks_generator, parametrize_with_checks
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from confgcn.estimator import ConfGCNClassifier

Array = npt.NDArray[Any]
NEIGHBOURS = 5
FEW_LABELS = {"epochs": 5, "select": "last", "stop": "never"}  # the checks have too few labels to hold any out

# Checks that fit nothing, or ask what is to be said before anything is fitted: these are run as they are.
WITHOUT_ROWS = (
    "check_estimator_cloneable",
    "check_estimator_tags_renamed",
    "check_valid_tag_types",
    "check_estimator_repr",
    "check_no_attributes_set_in_init",
    "check_estimators_unfitted",
    "check_do_not_raise_errors_in_init_or_set_params",
    "check_mixin_order",
    "check_parameters_default_constructible",
    "check_get_params_invariance",
    "check_set_params",
)

# Checks that cannot pass, whatever is said beforehand of the rows, and why.
CANNOT_PASS = {
    "check_classifiers_classes": "it takes -1 for a class; here -1 says that a node has no label",
}

# Checks that ask for an error that we raise in words of our own; they pass where scikit-learn looks at the rows first.
OTHER_WORDS = {
    "check_complex_data": "complex numbers are refused, by naming the first label or the dtype",
    "check_dtype_object": "features of dtype object are refused, even where every object is a number",
    "check_estimators_empty_data_messages": "features without columns are refused, by naming both shapes",
    "check_estimators_nan_inf": "NaN and infinity are refused, by naming row, column and value",
    "check_fit2d_predict1d": "features of one dimension are refused, by naming both shapes",
    "check_n_features_in_after_fitting": "another number of features is refused, by naming both numbers",
}


class OnRows(ConfGCNClassifier):
    """Rows as nodes, each joined to its nearest ones; what comes later is joined to the rows of the training."""

    def fit(self, X: Any, y: Any = None) -> Self:
        rows = as_rows(X)
        super().fit(joined(rows, np.arange(len(dense(rows))), rows), rows, y)
        self._rows = rows
        return self

    def predict(self, X: Any) -> Array:
        edges, features, places = self._with_new(X)
        return super().predict(edges, features)[places]

    def predict_proba(self, X: Any) -> Array:
        edges, features, places = self._with_new(X)
        return super().predict_proba(edges, features)[places]

    def score(self, X: Any, y: Any) -> float:
        return float(np.mean(self.predict(X) == y))

    def _with_new(self, X: Any) -> tuple[Array, Any, Array]:
        """A graph of the rows of the training and of those that are none, and where each row stands in it."""
        check_is_fitted(self)
        rows = as_rows(X)
        if rows.ndim != 2 or rows.shape[1] != self.n_features_in_:
            return np.empty((2, 0), dtype=int), rows, np.arange(len(dense(rows)))
        known = {row.tobytes(): place for place, row in reversed(list(enumerate(dense(self._rows))))}
        places = np.array([known.get(row.tobytes(), -1) for row in dense(rows)], dtype=int)
        new = np.flatnonzero(places < 0)
        places[new] = len(dense(self._rows)) + np.arange(len(new))
        stack = sp.vstack if sp.issparse(rows) or sp.issparse(self._rows) else np.concatenate
        return joined(rows[new], places[new], self._rows), stack([self._rows, rows[new]]), places

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = True
        tags.target_tags.required = True
        return tags


class OnCheckedRows(OnRows):
    """The same, with the rows looked at by scikit-learn before they become a graph."""

    def fit(self, X: Any, y: Any = None) -> Self:
        rows, labels = validate_data(self, X, y, accept_sparse="csr")
        check_classification_targets(labels)
        return super().fit(rows, labels)

    def _with_new(self, X: Any) -> tuple[Array, Any, Array]:
        check_is_fitted(self)
        return super()._with_new(validate_data(self, X, accept_sparse="csr", reset=False))


def as_rows(X: Any) -> Any:
    return sp.csr_matrix(X) if sp.issparse(X) else np.asarray(X)


def dense(rows: Any) -> Array:
    """As numbers, where they can be made some."""
    array = rows.toarray() if sp.issparse(rows) else rows
    try:
        return np.nan_to_num(array.astype(np.complex128).real)
    except (TypeError, ValueError):
        return np.zeros((len(array), 1))


def joined(rows: Any, places: Array, to: Any) -> Array:
    """An edge index from each of these places to those of the nearest rows; itself does not count as an edge."""
    here, there = dense(rows), dense(to)
    if here.ndim != 2:
        return np.empty((2, 0), dtype=int)
    far = ((here[:, None] - there[None]) ** 2).sum(-1)
    nearest = np.argsort(far, axis=1, kind="stable")[:, : NEIGHBOURS + 1]
    return np.stack([np.repeat(places, nearest.shape[1]), nearest.reshape(-1)])


def cannot_pass(estimator: OnRows) -> dict[str, str]:
    return CANNOT_PASS if isinstance(estimator, OnCheckedRows) else CANNOT_PASS | OTHER_WORDS


@pytest.mark.parametrize("name", WITHOUT_ROWS)
def test_the_estimator_itself_passes(name: str) -> None:
    getattr(estimator_checks, name)("ConfGCNClassifier", ConfGCNClassifier())


def test_scikit_learn_is_told_that_a_graph_is_no_table_of_rows() -> None:
    tags = get_tags(ConfGCNClassifier())
    assert not tags.input_tags.two_d_array
    assert not tags.target_tags.required
    assert tags.estimator_type == "classifier"


@parametrize_with_checks(
    [OnRows(settings=FEW_LABELS), OnCheckedRows(settings=FEW_LABELS)],
    expected_failed_checks=cannot_pass,
    xfail_strict=True,
)
def test_rows_that_are_joined_to_their_nearest_pass(estimator: OnRows, check: Any) -> None:
    check(estimator)


def test_every_check_that_cannot_pass_is_one_of_them() -> None:
    checks = [check for _, check in estimator_checks_generator(OnRows(settings=FEW_LABELS))]
    names = {getattr(check, "func", check).__name__ for check in checks}
    assert names >= CANNOT_PASS.keys() | OTHER_WORDS.keys() | set(WITHOUT_ROWS)
    assert not CANNOT_PASS.keys() & OTHER_WORDS.keys()
