"""GraphML: nodes and edges with named values, which are read and written as the columns of two tables."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

import scipy.sparse as sp

from confgcn.data.formats.array_files import MAX_BYTES
from confgcn.data.formats.compressed import read_content
from confgcn.data.formats.feature_files import NodeFeatures
from confgcn.data.formats.format import FileFormat, FileRequest, check_free
from confgcn.data.formats.node_columns import NodeColumns, node_columns
from confgcn.data.formats.table import Table, TableOptions, column_texts, shortened
from confgcn.data.formats.table_graph import graph_from_tables
from confgcn.data.formats.tables import read_matrix
from confgcn.data.input_files import stem_of, suffix_of, unchanged
from confgcn.data.raw import RawGraph
from confgcn.exceptions import ConfGCNError, DataError, UnsafeFileError, UsageError, unknown_name
from confgcn.graph import validation as checks
from confgcn.graph.validation import shown
from confgcn.io.atomic_files import write_atomic

ID_COLUMN = "node id"  # an attribute may be called id
REFUSED = {"hyperedge": "hyperedges", "port": "ports", "endpoint": "hyperedges", "locator": "links to other files"}
EDGE_ENDS = ("source", "target")
MEMORY_PER_BYTE = 20  # of a file, for the texts of its values
CELL_BYTES = 8  # of a value that many nodes share, or lack

NAMESPACE = "http://graphml.graphdrawing.org/xmlns"

_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # by XML 1.0


@dataclass
class _Key:
    """A key of the file: the column of its values, and the default value."""

    name: str
    default: str = ""


@dataclass
class _Rows:
    """The nodes or the edges: the line and the values of each."""

    fixed: tuple[str, ...]
    keys: dict[str, _Key] = field(default_factory=dict)
    lines: list[int] = field(default_factory=list)
    values: list[dict[str, str]] = field(default_factory=list)

    def table(self, path: Path, *, declared: bool) -> Table:
        """A column for every key that some row has a value for, and for every key if ``declared``."""
        defaults = {key.name: key.default for key in self.keys.values() if declared or key.default}
        names = dict.fromkeys((*self.fixed, *defaults, *(name for row in self.values for name in row)))
        if len(names) * len(self.values) * CELL_BYTES > MAX_BYTES:
            raise DataError(
                f"{path}: {len(self.values):,} nodes or edges with {len(names):,} keys take more than {MAX_BYTES:,} "
                "bytes; leave keys out with --ignore"
            )
        columns = {name: [row.get(name, defaults.get(name, "")) for row in self.values] for name in names}
        return Table(path, dict(columns), self.lines)


def read_graphml(
    path: Path,
    options: TableOptions | None = None,
    *,
    name: str | None = None,
    like: Sequence[str] | None = None,
    features: NodeFeatures | None = None,
    known: Collection[str] = (),
) -> RawGraph:
    """The graph in a GraphML file, plain or compressed; its values are read as the columns of tables are."""
    options = options or TableOptions()
    if options.source or options.target or options.node_id:
        raise UsageError("GraphML defines edges and ids: --source, --target, --id are for tables")
    reader = _Reader(path, options.ignore)
    reader.read(read_content(path, memory_per_byte=MEMORY_PER_BYTE))
    edges, nodes = reader.edges.table(path, declared=False), reader.nodes.table(path, declared=True)
    ignore = tuple(name for name in options.ignore if name in {*edges.columns, *nodes.columns})
    return graph_from_tables(
        edges,
        nodes,
        replace(options, node_id=ID_COLUMN, source=EDGE_ENDS[0], target=EDGE_ENDS[1], ignore=ignore),
        name=name or path.name.split(".")[0],
        like=like,
        features=features,
        known=known,
    )


class _Reader:
    """Collects rows from the elements of the file; nothing outside the file is opened."""

    def __init__(self, path: Path, ignore: Sequence[str]) -> None:
        self.path = path
        self.nodes = _Rows((ID_COLUMN,))
        self.edges = _Rows(EDGE_ENDS)
        self._ignore = ignore
        self._open: list[str] = []
        self._declared = _Key("")  # the last, which a default belongs to
        self._skipped = 0  # the depth of a value that is not read, 0 for none
        self._text: list[str] | None = None
        self._on_text: Any = None  # what is done with the text of the open element
        self._num_graphs = 0
        self._parser = expat.ParserCreate(namespace_separator=" ")
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._characters
        self._parser.StartDoctypeDeclHandler = self._refuse_doctype

    def read(self, content: bytes) -> None:
        """Parse the file."""
        try:
            self._parser.Parse(content, True)
        except expat.ExpatError as error:
            problem = expat.ErrorString(error.code)
            raise DataError(f"{self.path}, line {error.lineno}: not well-formed XML ({problem})") from None
        except (LookupError, ValueError) as error:
            if isinstance(error, ConfGCNError):
                raise
            raise DataError(f"{self.path}: not readable XML ({error}); write it as UTF-8") from None
        if not self._num_graphs:
            raise DataError(f"{self.path}: there is no element graph in it")
        known = {key.name for rows in (self.nodes, self.edges) for key in rows.keys.values()}
        for name in self._ignore:
            if name not in known:
                raise unknown_name(f"key of {self.path.name}", name, known)

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        name = tag.rpartition(" ")[2]
        self._open.append(name)
        if self._skipped:
            return
        if len(self._open) == 1 and name != "graphml":
            raise self._error(f"expected GraphML, found the element {shortened(name)}")
        if self._text is not None:
            raise self._error(
                f"a value that holds elements ({shortened(name)}) is not supported; leave its key out with --ignore"
            )
        if name in REFUSED or "sourceport" in attributes or "targetport" in attributes:
            raise self._error(f"{REFUSED.get(name, 'ports')} are not supported")
        start = getattr(self, f"_start_{name}", None)
        if start is not None:
            start(attributes)

    def _start_graph(self, attributes: dict[str, str]) -> None:
        self._num_graphs += 1
        if self._num_graphs > 1 or self._open != ["graphml", "graph"]:
            raise self._error("a second graph, or a graph inside a node: only one graph per file is supported")

    def _start_key(self, attributes: dict[str, str]) -> None:
        identity, kind = self._required(attributes, "id"), attributes.get("for", "all")
        key = _Key(attributes.get("attr.name", identity))
        self._declared = key
        for wanted, rows in (("node", self.nodes), ("edge", self.edges)):
            if kind in (wanted, "all"):
                rows.keys[identity] = key

    def _start_default(self, attributes: dict[str, str]) -> None:
        key = self._declared
        self._collect(lambda text: setattr(key, "default", text))

    def _start_node(self, attributes: dict[str, str]) -> None:
        self._add(self.nodes, {ID_COLUMN: self._required(attributes, "id")})

    def _start_edge(self, attributes: dict[str, str]) -> None:
        self._add(self.edges, {end: self._required(attributes, end) for end in EDGE_ENDS})

    def _start_data(self, attributes: dict[str, str]) -> None:
        rows = {"node": self.nodes, "edge": self.edges}.get(self._open[-2] if len(self._open) > 1 else "")
        if rows is None:  # of the graph as a whole
            self._skipped = len(self._open)
            return
        identity = self._required(attributes, "key")
        if identity not in rows.keys:
            raise self._error(f"key {shown(identity)} is not declared for this element")
        column, row = rows.keys[identity].name, rows.values[-1]
        if column in self._ignore:
            self._skipped = len(self._open)
        elif column in row:
            raise self._error(f"two values for {shown(column)}")
        else:
            self._collect(lambda text: row.__setitem__(column, text))

    def _end(self, tag: str) -> None:
        name = self._open.pop()
        if len(self._open) < self._skipped:
            self._skipped = 0
        elif name in ("data", "default") and self._text is not None:
            self._on_text("".join(self._text))
            self._text = None

    def _characters(self, text: str) -> None:
        if self._text is not None:
            self._text.append(text)

    def _collect(self, on_text: Any) -> None:
        self._text, self._on_text = [], on_text

    def _add(self, rows: _Rows, values: dict[str, str]) -> None:
        rows.lines.append(self._parser.CurrentLineNumber)
        rows.values.append(values)

    def _required(self, attributes: dict[str, str], name: str) -> str:
        if name not in attributes:
            raise self._error(f"the element {self._open[-1]} has no attribute {name}")
        return attributes[name]

    def _refuse_doctype(self, *declaration: Any) -> None:
        raise UnsafeFileError(
            f"{self.path}, line {self._parser.CurrentLineNumber}: has a document type declaration, which can name "
            "other files and expand without end; remove it"
        )

    def _error(self, problem: str) -> DataError:
        return DataError(f"{self.path}, line {self._parser.CurrentLineNumber}: {problem}")


def graphml_bytes(columns: NodeColumns, edges: Sequence[tuple[str, str]]) -> bytes:
    """A graph as GraphML that is read back to the same graph.

    Where features are sparse, zero is the default of a feature and left out. Not every program reads defaults, so dense
    features are written in full.
    """
    _check_characters(columns)
    if ID_COLUMN in columns.feature_names:
        raise DataError(f"feature {ID_COLUMN!r}: GraphML is read with this name for the ids; write an .npz file")
    return "\n".join([*_head(columns), *_nodes(columns), *_edges(edges), "</graph>", "</graphml>", ""]).encode()


def _head(columns: NodeColumns) -> Iterator[str]:
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield f'<graphml xmlns="{NAMESPACE}">'
    for name in columns.texts:
        yield f'<key id="{name}" for="node" attr.name="{name}" attr.type="string"/>'
    default = "<default>0</default>" if sp.issparse(columns.features) else ""
    for place, name in enumerate(columns.feature_names):
        yield f'<key id="d{place}" for="node" attr.name={quoteattr(name)} attr.type="double">{default}</key>'
    yield '<graph edgedefault="undirected">'


def _nodes(columns: NodeColumns) -> Iterator[str]:
    features = columns.features
    for row, node in enumerate(columns.ids):
        values = [(name, texts[row]) for name, texts in columns.texts.items() if texts[row]]
        if features is not None:
            values += _feature_values(features[[row]])
        data = "".join(f'<data key="{key}">{_text(value)}</data>' for key, value in values)
        yield f"<node id={quoteattr(node)}>{data}</node>"


def _feature_values(row: Any) -> list[tuple[str, str]]:
    places, values = (row.indices, row.data) if sp.issparse(row) else (range(row.shape[1]), row[0])
    return [(f"d{place}", text) for place, text in zip(places, column_texts(values), strict=True)]


def _edges(edges: Sequence[tuple[str, str]]) -> Iterator[str]:
    for source, target in edges:
        yield f"<edge source={quoteattr(source)} target={quoteattr(target)}/>"


def _text(value: str) -> str:
    return escape(value, {"\r": "&#13;"})


def _check_characters(columns: NodeColumns) -> None:
    kinds = {"id": columns.ids, "feature": columns.feature_names, **columns.texts}
    for kind, texts in kinds.items():
        for text in texts:
            if found := _FORBIDDEN.search(text):
                raise DataError(f"{kind} {shown(text)}: XML has no character {found[0]!r}; write an .npz file")


def _read(request: FileRequest) -> RawGraph:
    if request.nodes is not None:
        raise UsageError(f"--nodes {request.nodes}: {request.path} holds the nodes already")
    with unchanged([path for path in (request.path, request.features) if path is not None]):
        features = read_matrix(request.features)
        name = stem_of(request.path)
        return read_graphml(
            request.path, request.options, name=name, like=request.like, features=features, known=request.known
        )


def _write(raw: RawGraph, path: Path, *, overwrite: bool) -> list[Path]:
    columns = node_columns(raw)
    positions = checks.checked_edges(raw.edges, len(columns.ids)).tolist()
    content = graphml_bytes(columns, [(columns.ids[source], columns.ids[target]) for source, target in positions])
    check_free(path, overwrite=overwrite)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, content)
    return [path]


def _is_graphml(path: Path) -> bool:
    return suffix_of(path) == ".graphml" and not path.is_dir()


FORMAT = FileFormat("graphml", "a .graphml file", (".graphml",), _is_graphml, _read, _write, has_columns=True)
