"""Where a run's graph comes from: a built-in data set, a user's files, or memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

from confgcn.data.datasets import dataset_named, load_dataset
from confgcn.data.formats.arrays import ArrayFolder, arrays_of_folder, is_array_folder
from confgcn.data.formats.registry import read_graph
from confgcn.data.formats.store import is_store
from confgcn.data.formats.store_writing import GraphArrays, arrays_of_graph
from confgcn.data.formats.table import TableOptions
from confgcn.data.graph_names import check_graph_name, is_path
from confgcn.data.input_files import naming, unchanged
from confgcn.data.raw import RawGraph, numbered_features, raw_from_graph
from confgcn.data.statistics import GraphStatistics, describe
from confgcn.data.transforms import column_means
from confgcn.distributed.shard_files import is_shard_folder
from confgcn.exceptions import UsageError
from confgcn.graph import Graph
from confgcn.runs.stored_graph import MappedGraph, ShardedGraph, Shares, split_by_shares


class GraphInput(Protocol):
    """A graph that a run can load.

    Attributes:
        name: shown to the user; selects the data set's settings of a preset where ``is_named``.
        is_named: True for a built-in data set, which can be loaded again by its name.
        needs_copy: True where a run directory must hold a copy, because the graph could not be loaded again.
        draws_split: True where the split depends on the split seed.
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
        """The graph, split with that seed where it has no split of its own."""

    def raw(self) -> RawGraph:
        """The graph as it was read, with or without features."""

    def record(self) -> dict[str, Any]:
        """The entries of config.json that must be equal for a run to be resumed."""


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
        return load_dataset(self.name, data_dir=self.data_dir, split_seed=split_seed)

    def raw(self) -> RawGraph:
        return raw_from_graph(self.load(0))

    def record(self) -> dict[str, Any]:
        return {}


@dataclass(frozen=True)
class GraphFiles:
    """A user's files: one ``path`` for the whole graph, or ``edges`` and ``nodes`` (``data.formats.registry``)."""

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
        """The file or folder that holds the edges."""
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
        return raw_from_graph(self.load(0)) if self.structural or self.shares.any else self.read()

    def load(self, split_seed: int) -> Graph:
        return split_by_shares(self._unsplit, self.shares, split_seed) if self.shares.any else self.build(self.read())

    @cached_property
    def _unsplit(self) -> Graph:
        """The graph before shares are held out: several split seeds read the files once."""
        return self.build(self.read())

    def build(self, raw: RawGraph, structural: Sequence[str] = ()) -> Graph:
        """A graph from what was read; an error names the file."""
        with naming(self.nodes or self.main):
            return raw.build((*self.structural, *structural))

    def read(self, *, like: Sequence[str] | None = None, known: Sequence[str] = ()) -> RawGraph:
        """Read the files; ``like`` are the feature names they must have, ``known`` nodes that edges may refer to."""
        files = {"edges": self.edges, "nodes": self.nodes, "features": self.features}
        return read_graph(self.path, self.options, **files, like=like, known=known)

    def read_new(self, graph: Graph) -> RawGraph:
        """Nodes and edges to join to a graph: they must have its features, and edges may refer to its nodes."""
        names = graph.feature_names or numbered_features(graph.num_features)
        means = dict(zip(names, column_means(graph.features).tolist(), strict=True))
        files = replace(self, options=replace(self.options, fills=means))
        return files.read(like=names, known=graph.node_names)

    def record(self) -> dict[str, Any]:
        paths = {key: getattr(self, key) for key in ("path", "edges", "nodes", "features")}
        given = {key: str(value) for key, value in paths.items() if value is not None}
        options = {key: value for key, value in asdict(self.options).items() if value != getattr(TableOptions(), key)}
        more = {"structural": self.structural, **asdict(self.shares), **options}
        plain = {key: list(value) if isinstance(value, tuple) else value for key, value in more.items() if value}
        return {"input": {**given, **plain}}


@dataclass(frozen=True, eq=False)
class InMemoryGraph:
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
        return {"input": {"graph": "in memory"}}


def as_input(graph: str | Path | Graph | GraphInput, data_dir: Path | str | None = None) -> GraphInput:
    """The input for a name of ``confgcn datasets``, a path, a graph, or an input as it is."""
    if isinstance(graph, Graph):
        return InMemoryGraph(graph)
    if isinstance(graph, Path) or (isinstance(graph, str) and is_path(graph)):
        return files_input(GraphFiles(Path(graph)))
    return NamedGraph(graph, data_dir) if isinstance(graph, str) else graph


def files_input(files: GraphFiles) -> GraphInput:
    """The same files; or, for a folder of shards or a mapped graph, the input that opens it without reading it."""
    if files.path is not None and is_shard_folder(files.path):
        if files != GraphFiles(files.path):
            raise UsageError(
                f"{files.path}: a folder of shards takes no options; give them to confgcn partition, which made it"
            )
        return ShardedGraph(files.path)
    if files.path is None or not is_store(files.path):
        return files
    if files != GraphFiles(files.path, shares=files.shares):
        raise UsageError(f"{files.path}: a mapped graph takes no options; give them to confgcn convert, which made it")
    return MappedGraph(files.path, files.shares)


def input_files(given: GraphInput) -> list[Path]:
    """The files an input reads, which must not be overwritten."""
    if isinstance(given, MappedGraph):
        return [given.path]
    if not isinstance(given, GraphFiles):
        return []
    return [path for path in (given.path, given.edges, given.nodes, given.features) if path is not None]


def in_memory(given: GraphInput) -> GraphInput:
    """The same graph, with its files read now."""
    if not isinstance(given, GraphFiles):
        return given
    return InMemoryGraph(replace(given, shares=Shares()).load(0), given.shares)


def load_for_inspection(given: GraphInput, split_seed: int) -> tuple[Graph, GraphStatistics]:
    """The graph and its statistics, also where it has no features to train on; files are read once."""
    if not isinstance(given, GraphFiles):
        graph = given.load(split_seed)
        return graph, describe(graph)
    raw = given.read()
    if raw.features is not None or given.structural:
        graph = split_by_shares(given.build(raw), given.shares, split_seed)
        return graph, describe(graph)
    hint = "there are no features; --add-features degree, positional or identity computes some from the graph"
    graph = given.build(replace(raw, notices=(*raw.notices, hint)), ("degree",))
    return graph, replace(describe(graph), features=0, stored_features=0)


@contextmanager
def arrays_for_mapping(given: GraphInput) -> Iterator[GraphArrays]:
    """The arrays to write as a mapped graph: those of a folder of arrays block by block, others from memory.

    The files of the folder must not change in the meantime.
    """
    path = given.path if isinstance(given, GraphFiles) else None
    if path is None or not is_array_folder(path) or given != GraphFiles(path):
        yield arrays_of_graph(given.load(0))
        return
    folder = ArrayFolder(path)
    with unchanged(folder.files):
        yield arrays_of_folder(folder)


def recorded_options(config: Mapping[str, Any], **changes: Any) -> TableOptions:
    """The options the tables of a run were read with, from its config.json, with these changes."""
    known = {option.name for option in fields(TableOptions)}
    recorded = {name: value for name, value in config.get("input", {}).items() if name in known}
    plain = {name: tuple(value) if isinstance(value, list) else value for name, value in recorded.items()}
    changes["ignore"] = (*plain.pop("ignore", ()), *changes.pop("ignore", ()))
    options = TableOptions(**{**plain, **changes})
    columns = ("source", "target", "node_id", "label", "split", "ignore", "categorical")
    names = [name for key in columns if key not in changes for name in _listed(getattr(options, key))]
    names += changes["ignore"]
    return replace(options, remembered=tuple(names))


def _listed(value: str | tuple[str, ...] | None) -> tuple[str, ...]:
    return () if value is None else (value,) if isinstance(value, str) else value
