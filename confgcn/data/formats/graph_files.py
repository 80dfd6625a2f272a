"""Read a graph of the user's, whatever files it is in: tables, arrays, GraphML, npz archives, planetoid files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from confgcn.data.formats.array_folder import is_array_folder
from confgcn.data.formats.array_graph import read_array_folder
from confgcn.data.formats.citation_npz import read_citation_npz
from confgcn.data.formats.compressed import COMPRESSED_SUFFIXES
from confgcn.data.formats.delimited import read_delimited
from confgcn.data.formats.feature_files import NodeFeatures, read_node_features
from confgcn.data.formats.graph_npz import is_graph_npz, read_graph_npz
from confgcn.data.formats.graph_store import is_store, open_store
from confgcn.data.formats.graphml import read_graphml
from confgcn.data.formats.parquet import MAGIC, read_parquet
from confgcn.data.formats.planetoid import SUFFIXES as PLANETOID_SUFFIXES
from confgcn.data.formats.planetoid import read_planetoid
from confgcn.data.formats.store_check import check_store
from confgcn.data.formats.table import Table, listed
from confgcn.data.formats.tables import TableOptions, graph_from_tables
from confgcn.data.input_files import naming, unchanged
from confgcn.data.raw import RawGraph, raw_from_graph
from confgcn.data.structural import is_structural
from confgcn.exceptions import DataError, ResourceError, UsageError
from confgcn.graph.checks import shown

TABLE_SUFFIXES = (".csv", ".tsv", ".txt", ".parquet")
FEATURE_SUFFIXES = (".npy", ".npz")
EXPECTED = (
    "edges.csv (or .tsv, .parquet) and nodes.csv, edges.npy and labels.npy, a .graphml or .npz file, or planetoid "
    "files ind.NAME.*"
)


def read_graph(
    path: Path | None,
    options: TableOptions | None = None,
    *,
    edges: Path | None = None,
    nodes: Path | None = None,
    features: Path | None = None,
    like: Sequence[str] | None = None,
    known: Sequence[str] = (),
) -> RawGraph:
    """The graph in a folder or file, or in the tables ``edges`` and ``nodes`` with a matrix of ``features``.

    ``like`` has the names of the features of a trained graph, which must come out, but for those that the graph itself
    gives; ``known`` has the ids of its nodes, which edges may name.
    """
    options = options or TableOptions()
    files = _Files(_main(path, edges), nodes, features)
    if is_store(files.main) or is_array_folder(files.main):
        _refuse_table_options(files, options)
        return _like(_read_arrays(files.main), like)
    prefix = _planetoid_prefix(files.main)
    suffix = "" if files.main.is_dir() else _suffix(files.main)
    if prefix is not None or suffix == ".npz":
        _refuse_table_options(files, options)
        with naming(files.main):
            return _like(_read_archive(files.main) if prefix is None else _read_planetoid(prefix), like)
    name = _stem(files.main)
    if files.main.is_dir():
        files = _files_in(files)
    if suffix == ".graphml" and nodes is not None:
        raise UsageError(f"--nodes {nodes}: {files.main} holds the nodes already")
    with unchanged(files.paths()):
        if suffix == ".graphml":
            return read_graphml(files.main, options, name=name, like=like, features=files.matrix(), known=known)
        return graph_from_tables(
            read_table(files.main, options.ignore),
            None if files.nodes is None else read_table(files.nodes, options.ignore, options.is_text),
            options,
            name=name,
            like=like,
            features=files.matrix(),
            known=known,
        )


@dataclass(frozen=True)
class _Files:
    main: Path  # the one that holds the edges, or all
    nodes: Path | None
    features: Path | None

    def paths(self) -> list[Path]:
        return [path for path in (self.main, self.nodes, self.features) if path is not None]

    def matrix(self) -> NodeFeatures | None:
        if self.features is None:
            return None
        with naming(self.features):
            return read_node_features(self.features)


def _main(path: Path | None, edges: Path | None) -> Path:
    if path is not None and edges is not None:
        raise UsageError(f"{path} and --edges {edges}: give one of them, the other is not needed")
    main = path or edges
    if main is None:
        raise UsageError("no graph: give a path, or --edges and --nodes")
    if edges is not None and edges.is_dir():
        raise UsageError(f"--edges {edges}: a folder; name the file in it, or give the folder without --edges")
    return main


def _files_in(given: _Files) -> _Files:
    """The files in a folder; a matrix of features may lie elsewhere."""
    folder = given.main
    if given.nodes is not None:
        raise UsageError(f"--nodes {given.nodes} goes with --edges, not with the folder {folder}")
    edges, nodes = _find(folder, "edges", TABLE_SUFFIXES), _find(folder, "nodes", TABLE_SUFFIXES)
    if edges is None:
        raise DataError(f"{folder}: found {_listing(folder)}; expected {EXPECTED}")
    return _Files(edges, nodes, given.features or _find(folder, "features", FEATURE_SUFFIXES))


def read_table(path: Path, ignore: Sequence[str] = (), is_text: Callable[[str], bool] | None = None) -> Table:
    """The table in a file, Parquet or text, told by its first bytes; see their readers."""
    with naming(path), path.open("rb") as stream:
        is_parquet = stream.read(len(MAGIC)) == MAGIC
    if is_parquet:
        return read_parquet(path, ignore)
    if _suffix(path) == ".parquet":
        raise DataError(f"{path}: not a Parquet file, whatever its name says")
    return read_delimited(path, is_text)


def _find(folder: Path, stem: str, suffixes: Sequence[str]) -> Path | None:
    found = [file for file in sorted(folder.iterdir()) if _stem(file) == stem and _suffix(file) in suffixes]
    if len(found) > 1:
        raise DataError(f"{folder}: which one is it: {' or '.join(file.name for file in found)}? Remove the other")
    return found[0] if found else None


def _planetoid_prefix(path: Path) -> Path | None:
    """The part of the path that planetoid files have in common, if that is what these are."""
    if not path.is_dir():
        return path if path.name.startswith("ind.") and path.with_name(f"{path.name}.graph").exists() else None
    names = sorted(file.name.removesuffix(".graph") for file in path.glob("ind.*.graph"))
    if not names or _find(path, "edges", TABLE_SUFFIXES):
        return None
    if len(names) > 1:
        raise DataError(f"{path}: holds several graphs; name one: {' or '.join(str(path / name) for name in names)}")
    return path / names[0]


def _read_planetoid(prefix: Path) -> RawGraph:
    parts = {part: prefix.with_name(f"{prefix.name}.{part}") for part in PLANETOID_SUFFIXES}
    missing = [part for part, path in parts.items() if not path.exists()]
    if missing:
        raise ResourceError(f"{prefix.absolute()}: the parts {', '.join(missing)} are missing")
    with unchanged(parts.values()), naming(prefix):
        return raw_from_graph(read_planetoid(prefix.parent, prefix.name.removeprefix("ind.")))


def _read_archive(path: Path) -> RawGraph:
    with unchanged([path]), naming(path):
        if not is_graph_npz(path):
            return replace(raw_from_graph(read_citation_npz(path, name=_stem(path))), split=None)
        raw = read_graph_npz(path)
        raw.check()
        return raw


def _read_arrays(path: Path) -> RawGraph:
    """Into memory, also what could be mapped."""
    if not is_store(path):
        return read_array_folder(path)
    check_store(path)
    return raw_from_graph(open_store(path))


def _refuse_table_options(files: _Files, options: TableOptions) -> None:
    asked = replace(options.for_columns(()), allow_edgeless=False, impute=False, fills={})
    if asked != TableOptions() or files.nodes or files.features:
        raise UsageError(f"{files.main}: says itself what is what; options about columns and nodes are for tables")


def _like(raw: RawGraph, like: Sequence[str] | None) -> RawGraph:
    """The graph, if its features are those of a trained one: by name, or by number where there are no names."""
    expected = [name for name in like or () if not is_structural(name)]
    names = raw.feature_names
    if expected and names is not None and set(names) != set(expected):
        different = sorted(set(names) ^ set(expected))
        raise DataError(
            f"{raw.name}: the model was trained with {len(expected)} features, here are {len(names)}; "
            f"{len(different)} differ, for example {shown(different[0])}"
        )
    return raw


def _listing(folder: Path) -> str:
    names = sorted(file.name for file in folder.iterdir())
    return listed(names) if names else "nothing"


def _suffix(path: Path) -> str:
    """What the file is, under any compression."""
    return next((s.lower() for s in reversed(path.suffixes) if s.lower() not in COMPRESSED_SUFFIXES), "")


def _stem(path: Path) -> str:
    return path.absolute().name.partition(".")[0] or "graph"
