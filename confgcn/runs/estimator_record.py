"""What a run directory keeps of the estimator that wrote it: its parameters, the order of rows, the kind of labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from confgcn.data.label_values import LabelValues
from confgcn.exceptions import CorruptFileError, brief
from confgcn.io.json_files import read_checksummed_json, write_checksummed_json
from confgcn.runs.run import Run
from confgcn.runs.settings import SECTIONS, resolve


@dataclass(frozen=True)
class EstimatorRecord:
    """``params`` are those of the constructor; ``order`` says where in the graph each row stands."""

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
                raise ValueError(f"the order of the rows is none of {num_nodes} nodes")
            return cls(params, record["order"], LabelValues.from_json(record))
        except (KeyError, TypeError, ValueError) as error:
            raise CorruptFileError(f"{path}: describes no estimator of this run ({brief(error)})") from None


def plain(value: Any) -> Any:
    """As JSON has it: no tuples, no numbers of numpy."""
    if isinstance(value, Mapping):
        return {name: plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    return value.item() if isinstance(value, np.generic) else value


def _params_of(config: dict[str, Any]) -> dict[str, Any]:
    """The parameters that ask for a run which a command made, its graph being given."""
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
