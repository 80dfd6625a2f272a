"""Where a run's graph comes from: a name, files of a user's, read or mapped, or memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Protocol

from confgcn.data.datasets import dataset_named, load_graph
from confgcn.data.formats.graph_files import read_graph
from confgcn.data.formats.graph_store import is_store
from confgcn.data.formats.tables import TableOptions
from confgcn.data.graph_names import check_graph_name, is_path
from confgcn.data.input_files import naming
from confgcn.data.raw import RawGraph, numbered_features, raw_from_graph
from confgcn.data.statistics import GraphStatistics, describe
from confgcn.data.transforms import column_means
from confgcn.distributed.shard_files import is_shard_folder
from confgcn.exceptions import UsageError
from confgcn.graph import Graph
from confgcn.runs.mapped_source import MappedGraph
from confgcn.runs.sharded_graph import ShardedGraph
from confgcn.runs.shares import Shares, split_by_shares


class GraphSource(Protocol):
    """What a run must know of its graph's origin.

    Attributes:
        name: for people, and for the settings of a preset where ``is_named``.
        is_named: can it be loaded again by its name?
        needs_copy: must a run keep a copy, because nothing else would give the same graph again?
        draws_split: does the split change with the split seed?
    """

    @property
    def name(self) -> str: ...

    @property
    def is_named(self) -> bool: ...

    @property
    def needs_copy(self) -> bool: ...

    @property
    def draws_split(self) -> bool: ...

    def load(self, split_seed: int) -> Graph:
        """The graph, split by that seed where it has no split of its own."""

    def raw(self) -> RawGraph:
        """The graph as it came, with or without features."""

    def record(self) -> dict[str, Any]:
        """For the run's config.json: what to compare when it is resumed."""


@dataclass(frozen=True)
class NamedGraph:
    """One of ``confgcn datasets``."""

    name: str
    data_dir: Path | str | None = None
    is_named: bool = field(default=True, init=False)
    needs_copy: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        check_graph_name(self.name)

    @property
    def draws_split(self) -> bool:
        return dataset_named(self.name).draw_split is not None

    def load(self, split_seed: int) -> Graph:
        return load_graph(self.name, data_dir=self.data_dir, split_seed=split_seed)

    def raw(self) -> RawGraph:
        return raw_from_graph(self.load(0))

    def record(self) -> dict[str, Any]:
        return {}


@dataclass(frozen=True)
class GraphFiles:
    """A user's files: a ``path`` that holds all, or ``edges`` and ``nodes``; see ``data.formats.graph_files``."""

    path: Path | None = None
    edges: Path | None = None
    nodes: Path | None = None
    features: Path | None = None
    options: TableOptions = field(default_factory=TableOptions)
    structural: tuple[str, ...] = ()
    shares: Shares = field(default_factory=Shares)
    is_named: bool = field(default=False, init=False)
    needs_copy: bool = field(default=True, init=False)

    @property
    def main(self) -> Path:
        """What holds the edges."""
        main = self.path or self.edges
        if main is None:
            raise UsageError("no graph: give a name, a path, or --edges and --nodes")
        return main

    @property
    def name(self) -> str:
        place = self.main.absolute()
        stem = place.name.partition(".")[0]
        return (place.parent.name if stem == "edges" else stem) or "graph"

    @property
    def draws_split(self) -> bool:
        return self.shares.any

    def raw(self) -> RawGraph:
        return raw_from_graph(self.load(0)) if self.structural or self.shares.any else self._read()

    def read_new(self, graph: Graph) -> RawGraph:
        """Nodes and edges to be joined to a graph, whose features they must have and whose nodes edges may name."""
        names = graph.feature_names or numbered_features(graph.num_features)
        means = dict(zip(names, column_means(graph.features).tolist(), strict=True))
        files = replace(self, options=replace(self.options, fills=means))
        return files._read(like=names, known=graph.node_names)

    def load(self, split_seed: int) -> Graph:
        raw = self._read()
        with naming(self.nodes or self.main):
            graph = raw.build(self.structural)
        return split_by_shares(graph, self.shares, split_seed)

    def _read(self, *, like: Sequence[str] | None = None, known: Sequence[str] = ()) -> RawGraph:
        files = {"edges": self.edges, "nodes": self.nodes, "features": self.features}
        return read_graph(self.path, self.options, **files, like=like, known=known)

    def record(self) -> dict[str, Any]:
        paths = {key: getattr(self, key) for key in ("path", "edges", "nodes", "features")}
        given = {key: str(value) for key, value in paths.items() if value is not None}
        options = {key: value for key, value in asdict(self.options).items() if value != getattr(TableOptions(), key)}
        more = {"structural": self.structural, **asdict(self.shares), **options}
        return {
            "source": {
                **given,
                **{key: list(value) if isinstance(value, tuple) else value for key, value in more.items() if value},
            }
        }


def recorded_options(config: Mapping[str, Any], **changes: Any) -> TableOptions:
    """How the tables of a run were read, from its config.json, but for these changes."""
    known = {option.name for option in fields(TableOptions)}
    recorded = {name: value for name, value in config.get("source", {}).items() if name in known}
    plain = {name: tuple(value) if isinstance(value, list) else value for name, value in recorded.items()}
    changes["ignore"] = (*plain.pop("ignore", ()), *changes.pop("ignore", ()))
    options = TableOptions(**{**plain, **changes})
    columns = ("source", "target", "node_id", "label", "split", "ignore", "categorical")
    names = [name for key in columns if key not in changes for name in _listed(getattr(options, key))]
    names += changes["ignore"]
    return replace(options, remembered=tuple(names))


@dataclass(frozen=True, eq=False)
class GivenGraph:
    """A graph in memory."""

    graph: Graph
    shares: Shares = field(default_factory=Shares)
    is_named: bool = field(default=False, init=False)
    needs_copy: bool = field(default=True, init=False)

    @property
    def name(self) -> str:
        return self.graph.name

    @property
    def draws_split(self) -> bool:
        return self.shares.any

    def load(self, split_seed: int) -> Graph:
        return split_by_shares(self.graph, self.shares, split_seed)

    def raw(self) -> RawGraph:
        return raw_from_graph(self.graph)

    def record(self) -> dict[str, Any]:
        return {"source": {"graph": "in memory"}}


def files_of(source: GraphSource) -> list[Path]:
    """What a source reads, that must not be written over."""
    if isinstance(source, MappedGraph):
        return [source.path]
    if not isinstance(source, GraphFiles):
        return []
    return [path for path in (source.path, source.edges, source.nodes, source.features) if path is not None]


def in_memory(source: GraphSource) -> GraphSource:
    """The same graph, its files read once and for all."""
    if not isinstance(source, GraphFiles):
        return source
    return GivenGraph(replace(source, shares=Shares()).load(0), source.shares)


def load_to_look_at(source: GraphSource, split_seed: int) -> tuple[Graph, GraphStatistics]:
    """The graph and what is in it, also where it has no features to train on."""
    raw = None if isinstance(source, MappedGraph) else source.raw()
    if raw is None or raw.features is not None:
        graph = source.load(split_seed)
        return graph, describe(graph)
    hint = "there are no features; --add-features degree, positional or identity makes some from the graph itself"
    with naming(next(iter(files_of(source)), Path(raw.name))):
        graph = replace(raw, remarks=(*raw.remarks, hint)).build(("degree",))
    return graph, replace(describe(graph), features=0, stored_features=0)


def mapped_or_read(files: GraphFiles) -> GraphSource:
    """The same source, or the one that opens a graph which need not be read."""
    if files.path is not None and is_shard_folder(files.path):
        if files != GraphFiles(files.path):
            raise UsageError(f"{files.path}: holds shards, which are as they were made; options are for their graph")
        return ShardedGraph(files.path)
    if files.path is None or not is_store(files.path):
        return files
    if files != GraphFiles(files.path, shares=files.shares):
        raise UsageError(f"{files.path}: a mapped graph is as it was made; give these options to confgcn convert")
    return MappedGraph(files.path, files.shares)


def source_of(graph: str | Path | Graph | GraphSource, data_dir: Path | str | None = None) -> GraphSource:
    """A name of ``confgcn datasets``, a path, a graph, or a source as it is."""
    if isinstance(graph, Graph):
        return GivenGraph(graph)
    if isinstance(graph, Path) or (isinstance(graph, str) and is_path(graph)):
        return mapped_or_read(GraphFiles(Path(graph)))
    return NamedGraph(graph, data_dir) if isinstance(graph, str) else graph


def _listed(value: str | tuple[str, ...] | None) -> tuple[str, ...]:
    return () if value is None else (value,) if isinstance(value, str) else value
