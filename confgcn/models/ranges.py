"""Named ranges of hyperparameters: settings are checked against these annotations."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

Count = Annotated[int, Field(ge=1, le=1_000_000)]
Width = Annotated[int, Field(ge=1, le=65_536)]
Depth = Annotated[int, Field(ge=1, le=1_000)]
DropoutRate = Annotated[float, Field(ge=0.0, lt=1.0, allow_inf_nan=False)]
Positive = Annotated[float, Field(gt=0.0, allow_inf_nan=False)]
LearningRate = Annotated[float, Field(gt=0.0, le=1e6, allow_inf_nan=False)]
NonNegative = Annotated[float, Field(ge=0.0, allow_inf_nan=False)]
WholeNumber = Annotated[int, Field(ge=0, le=1_000_000)]
Share = Annotated[float, Field(ge=0.0, le=1.0, allow_inf_nan=False)]
InnerShare = Annotated[float, Field(gt=0.0, lt=1.0, allow_inf_nan=False)]
