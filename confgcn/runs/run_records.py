"""What a run wrote of itself, as it is read again: a record of another form is refused, with the name of its file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from confgcn.confidence.calibration import Calibration
from confgcn.evaluation.scorecard import ConfidenceSummary
from confgcn.exceptions import CorruptFileError, brief
from confgcn.io.json_files import checked_record, read_checksummed_json, read_json
from confgcn.limits import MAX_SEED, MAX_SPLIT_SEED
from confgcn.models.ranges import NonNegative, Share
from confgcn.training.history import checked_history
from confgcn.training.selection import Record


def _check_calibration(record: dict[str, Any]) -> dict[str, Any]:
    Calibration.from_json(record)
    return record


_Calibration = Annotated[dict[str, Any], AfterValidator(_check_calibration)]
Whole = Annotated[int, Field(ge=0)]
Side = Annotated[int, Field(ge=1)]


class _Known(BaseModel):
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
    threshold: float | None
    accepted: Whole
    candidates: Whole
    held_out_labels: Whole
    observed_error: Share | None
    labels_needed: Whole | None


class _Metrics(_Config):
    test_accuracy: Share | None
    held_out_accuracy: Share | None
    validation_accuracy: Share | None
    raw: ConfidenceSummary | None
    calibrated: ConfidenceSummary | None
    decisions: list[_Decision]
    cross_fitted: bool
    best_epoch: Whole | None
    epochs: Whole
    seconds: NonNegative


class _Environment(_Known):
    python: str
    versions: dict[str, str]
    kernels: str
    platform: str
    threads: Whole
    graph_sha256: str
    notices: list[str]


class _Complete(_Known):
    model_config = ConfigDict(extra="forbid")


class _Shape(_Complete):
    num_nodes: Side
    num_features: Side
    num_classes: Side


class _Model(_Known):
    config: _Config
    shape: _Shape
    graph_sha256: str
    calibration: _Calibration | None = None  # weights kept from before a divergence have none


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
    """One record an epoch, in lines of JSON."""
    try:
        return checked_history([json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()])
    except CorruptFileError as error:
        raise CorruptFileError(f"{path}: corrupt, {error}") from None
    except (ValueError, RecursionError) as error:
        raise CorruptFileError(f"{path}: corrupt, not readable as JSON ({brief(error)})") from None


def check_model_record(path: Path, record: Mapping[str, Any]) -> None:
    """What stands beside the weights of a run."""
    checked_record(_Model, dict(record), f"{path}: describes no method of this version")
