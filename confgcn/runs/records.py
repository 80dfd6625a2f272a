"""The JSON records of a run directory, checked when they are read: an error names the file."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from confgcn.confidence.calibration import Calibration
from confgcn.data.labels import LabelValues
from confgcn.evaluation.scorecard import ConfidenceSummary
from confgcn.exceptions import CorruptFileError, brief
from confgcn.io.json_files import checked_record, read_checksummed_json, read_json, write_checksummed_json
from confgcn.limits import MAX_MEMBERS, MAX_SEED, MAX_SPLIT_SEED
from confgcn.models.ranges import NonNegative, Share
from confgcn.runs.run import Run
from confgcn.runs.settings import SECTIONS, resolve
from confgcn.training.history import checked_history
from confgcn.training.selection import Record


def _check_calibration(record: dict[str, Any]) -> dict[str, Any]:
    Calibration.from_json(record)
    return record


_Calibration = Annotated[dict[str, Any], AfterValidator(_check_calibration)]
Count = Annotated[int, Field(ge=0)]
Size = Annotated[int, Field(ge=1)]


class _Known(BaseModel):
    """A record whose known entries are checked; further entries are allowed."""

    model_config = ConfigDict(strict=True, allow_inf_nan=False)


class _Config(_Known):
    dataset: str
    seed: Annotated[int, Field(ge=0, le=MAX_SEED)]
    split_seed: Annotated[int, Field(ge=0, le=MAX_SPLIT_SEED)]
    input: dict[str, str | bool | float | list[str]] = {}
    method: str
    preset: str
    settings_of: str
    data: dict[str, Any]
    model: dict[str, Any]
    recipe: dict[str, Any]
    targets: dict[str, Any]


class _Decision(_Known):
    max_error: Share
    delta: Share
    certified: bool
    approximate: bool
    threshold: float | None
    accepted: Count
    candidates: Count
    held_out_labels: Count
    observed_error: Share | None
    labels_needed: Count | None


class _HeldOut(_Known):
    case: Literal["divided", "whole", "too_few", "cross_fitted", "none"]
    choosing: Count
    certifying: Count
    certified: bool


class _OneClass(_Known):
    code: Literal["one_class"]
    label: str
    nodes: Count


class _NoBetterThanMajority(_Known):
    code: Literal["no_better_than_majority"]
    label: str
    accuracy: Share
    majority_accuracy: Share
    held_out_labels: Count


class _NoBetterThanFeatures(_Known):
    code: Literal["no_better_than_features"]
    accuracy: Share
    features_accuracy: Share
    log_loss: NonNegative
    features_log_loss: NonNegative
    held_out_labels: Count


_Notice = Annotated[_OneClass | _NoBetterThanMajority | _NoBetterThanFeatures, Field(discriminator="code")]


class _Candidate(_Known):
    candidate: str
    influence: Literal["uniform", "learned"]
    settings: dict[str, Any]
    log_loss: NonNegative
    share: Share


class _Edges(_Known):
    code: Literal["help", "oppose", "nothing"]
    log_loss_with: NonNegative
    log_loss_without: NonNegative
    standard_error: NonNegative
    held_out_labels: Count
    compatibility_diagonal: Share


class _Influence(_Known):
    tried: bool
    learned_share: Share
    log_loss: NonNegative
    log_loss_uniform: NonNegative


class _Metrics(_Config):
    test_accuracy: Share | None
    held_out_accuracy: Share | None
    validation_accuracy: Share | None
    certify_accuracy: Share | None
    certify_log_loss: NonNegative | None
    held_out: _HeldOut
    test_balanced_accuracy: Share | None
    test_roc_auc: Share | None
    certify_balanced_accuracy: Share | None
    certify_roc_auc: Share | None
    validation_balanced_accuracy: Share | None
    validation_roc_auc: Share | None
    held_out_balanced_accuracy: Share | None
    held_out_roc_auc: Share | None
    imbalanced: bool
    notices: list[_Notice]
    raw: ConfidenceSummary | None
    calibrated: ConfidenceSummary | None
    decisions: list[_Decision]
    graph_size: dict[str, Count]
    cross_fitted: bool
    search: list[_Candidate] | None
    edges: _Edges | None
    influence: _Influence | None
    best_epoch: Count | None
    epochs: Count
    seconds: NonNegative


class _Environment(_Known):
    python: str
    versions: dict[str, str]
    kernels: str
    platform: str
    threads: Count
    graph_sha256: str
    notices: list[str]


class _Complete(_Known):
    """A record without further entries."""

    model_config = ConfigDict(extra="forbid")


class _Shape(_Complete):
    num_nodes: Size
    num_features: Size
    num_classes: Size


class _Model(_Known):
    config: _Config
    shape: _Shape
    graph_sha256: str
    calibration: _Calibration | None = None  # weights kept from before a divergence have none
    members: Annotated[list[dict[str, Any]], Field(min_length=1, max_length=MAX_MEMBERS)] | None = None


def read_metrics(path: Path) -> dict[str, Any]:
    """The metrics of a finished run."""
    record = read_json(path)
    checked_record(_Metrics, record, f"{path}: corrupt, these are not the metrics of a run")
    return record


def read_environment(path: Path) -> dict[str, Any]:
    """What a run was computed with."""
    record = read_checksummed_json(path)
    checked_record(_Environment, record, f"{path}: corrupt, this is not the environment of a run")
    return record


def read_history(path: Path) -> list[Record]:
    """One record per epoch, in lines of JSON."""
    try:
        return checked_history([json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()])
    except CorruptFileError as error:
        raise CorruptFileError(f"{path}: corrupt, {error}") from None
    except (ValueError, RecursionError) as error:
        raise CorruptFileError(f"{path}: corrupt, not readable as JSON ({brief(error)})") from None


def check_model_record(path: Path, record: Mapping[str, Any]) -> None:
    """Check the record beside the weights of a run."""
    checked_record(_Model, dict(record), f"{path}: describes no method of this version")


@dataclass(frozen=True)
class EstimatorRecord:
    """``params`` are those of the constructor, ``order`` (N,) the position of each row in the graph."""

    params: dict[str, Any]
    order: Sequence[int]
    values: LabelValues

    @classmethod
    def of_run(cls, run: Run) -> EstimatorRecord:
        """For a run that a command made: rows in natural order."""
        values = LabelValues.of(None, run.graph.class_names)
        return cls(_params_of(run.config), range(run.graph.num_nodes), values)

    def write(self, path: Path) -> None:
        """As estimator.json, with a checksum."""
        write_checksummed_json(path, {"params": plain(self.params), "order": list(self.order), **self.values.to_json()})

    @classmethod
    def read(cls, path: Path, *, num_nodes: int) -> EstimatorRecord:
        """What :meth:`write` wrote, of a graph of so many nodes."""
        record = read_checksummed_json(path)
        try:
            params = {**record["params"], "add_features": tuple(record["params"]["add_features"])}
            if sorted(record["order"]) != list(range(num_nodes)):
                raise ValueError(f"the order of the rows is not a permutation of {num_nodes} nodes")
            return cls(params, record["order"], LabelValues.from_json(record))
        except (KeyError, TypeError, ValueError) as error:
            raise CorruptFileError(f"{path}: describes no estimator of this run ({brief(error)})") from None


def plain(value: Any) -> Any:
    """The value with the types of JSON: lists for tuples, numbers of Python for those of numpy."""
    if isinstance(value, Mapping):
        return {name: plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    return value.item() if isinstance(value, np.generic) else value


def _params_of(config: dict[str, Any]) -> dict[str, Any]:
    """The parameters of an estimator that would train the same run."""
    usual = resolve(config["method"], config["preset"], "", {}).as_dict()
    settings = {
        name: value
        for section in SECTIONS
        for name, value in config[section].items()
        if value != usual[section].get(name)
    }
    known = {"preset": config["preset"], "method": config["method"], "random_state": config["seed"]}
    given = config.get("input", {})
    shares = {name: given[name] for name in ("validation", "test") if name in given}
    return {**known, "settings": settings or None, "add_features": given.get("structural", []), **shares}
