"""Records that were written as JSON, compared with what they must be when they are read again."""

from __future__ import annotations

import json
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from confgcn.exceptions import CorruptFileError, brief

Model = TypeVar("Model", bound=BaseModel)


def checked_record(model: type[Model], record: dict[str, Any], complaint: str) -> Model:
    """The record as its model; the error is the complaint, with the first place that does not fit."""
    try:
        return model.model_validate_json(json.dumps(record))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise CorruptFileError(f"{complaint} ({brief(where)}: {brief(first['msg'].lower())})") from None
