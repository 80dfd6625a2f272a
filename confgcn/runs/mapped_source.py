"""A graph that is mapped as the source of runs: they keep no copy of it, but where it is and what tells it apart."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from confgcn.data.formats.graph_store import RECORD, is_store, open_store, store_sha256
from confgcn.data.formats.store_check import check_store
from confgcn.data.raw import RawGraph, raw_from_graph
from confgcn.exceptions import DataError, ResourceError
from confgcn.graph import Graph
from confgcn.runs.run_records import recorded_path
from confgcn.runs.shares import Shares, split_by_shares

CHECKSUM = "mapped_sha256"


@dataclass(frozen=True)
class MappedGraph:
    """A folder that ``confgcn convert --mapped`` has made; all of it is checked when it is first loaded."""

    path: Path
    shares: Shares = field(default_factory=Shares)
    is_named: bool = field(default=False, init=False)
    needs_copy: bool = field(default=False, init=False)

    @property
    def name(self) -> str:
        return self.path.absolute().name.partition(".")[0] or "graph"

    @property
    def draws_split(self) -> bool:
        return self.shares.any

    def load(self, split_seed: int) -> Graph:
        if self._checked != store_sha256(self.path):
            raise ResourceError(f"{self.path.absolute()}: changed since it was checked; try again")
        return split_by_shares(open_store(self.path), self.shares, split_seed)

    def raw(self) -> RawGraph:
        return raw_from_graph(self.load(0))

    def record(self) -> dict[str, Any]:
        shares = {part: share for part, share in asdict(self.shares).items() if share}
        return {"source": {"path": str(self.path.absolute()), CHECKSUM: self._checked, **shares}}

    @cached_property
    def _checked(self) -> str:
        check_store(self.path)
        return store_sha256(self.path)


def recorded_store(config: Mapping[str, Any]) -> Graph | None:
    """The mapped graph of a run, from its config.json; None where it was of another kind.

    It is compared with the one of the training by its checksum, and what is in it when the run asks for the graph's
    fingerprint.
    """
    source = config.get("source", {})
    if CHECKSUM not in source:
        return None
    path = recorded_path(config)
    if not is_store(path):
        raise ResourceError(f"{path / RECORD}: missing; the run was trained on the graph in this folder, put it back")
    if store_sha256(path) != source[CHECKSUM]:
        raise DataError(f"{path}: holds another graph than the one that the run was trained on")
    shares = Shares(**{part: source[part] for part in asdict(Shares()) if part in source})
    return split_by_shares(open_store(path), shares, config["split_seed"])
