"""GraphML files, as NetworkX, Gephi, igraph and yEd write them, kept to the byte like text tables."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.parsers import expat
from xml.sax.saxutils import escape

import pandas as pd

from magnet.tables.errors import BadTable, quoted, readable
from magnet.tables.readers.text import read_text
from magnet.tables.values import Change, cell_text

ID = "node id"
MAX_DEPTH = 100  # elements inside each other; yEd's deepest drawings have about twenty
_DECLARED = re.compile(rb"""<\?xml[^>]*?\sencoding\s*=\s*["']([A-Za-z][\w.-]*)["']""")
_START_TAG = re.compile(rb"""<([^\s/>]+)(?:\s+[^\s=]+\s*=\s*(?:"[^"]*"|'[^']*'))*\s*(/?)>""")
_FORBIDDEN = re.compile("[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")


@dataclass(frozen=True)
class Span:
    """Byte range ``[start, stop)`` of an element's text in the UTF-8 file; ``tag`` is set where the
    element is empty (``<data key="d0"/>``) and has to be opened to hold text."""

    start: int
    stop: int
    tag: bytes = b""


@dataclass(frozen=True, eq=False)
class GraphML:
    """A GraphML file, with its nodes and edges as data frames of text.

    Args:
        document: its content and where its cells are.
        encoding: of the file.
        keys: the key of each column.
        frame: its nodes; those without a value of their own hold their key's ``<default>``.
        edges: source, target and optionally weight.
    """

    document: _Document
    encoding: str
    keys: Mapping[str, str]
    frame: pd.DataFrame
    edges: pd.DataFrame
    suffix: str = ".graphml"

    def write(self, target: Path, changes: Mapping[str, Change]) -> None:
        """The file again, with other text in some cells and every other byte as it was."""
        edits: list[tuple[int, int, bytes]] = []
        added: dict[int, list[bytes]] = {}
        for name, (rows, values) in changes.items():
            key = self.keys[name]
            for row, value in zip(rows.tolist(), values, strict=True):
                new = escape(cell_text(value)).replace("\r", "&#13;").encode()
                place = self.document.cells[row].get(key)
                if place is None:
                    attribute = escape(key, {'"': "&quot;"}).encode()
                    prefix = self._prefix(row)
                    added.setdefault(row, []).append(b'<%bdata key="%b">%b</%bdata>' % (prefix, attribute, new, prefix))
                else:
                    edits.append((place.start, place.stop, _opened(place.tag, new)))
        for row, parts in added.items():
            end = self.document.ends[row]
            edits.append((end.start, end.stop, _opened(end.tag, b"".join(parts))))
        content, pieces, at = self.document.content, list[bytes](), 0
        for start, stop, new in sorted(edits):
            pieces += [content[at:start], new]
            at = stop
        text = b"".join([*pieces, content[at:]]).decode()
        target.write_bytes(text.encode(self.encoding, "xmlcharrefreplace"))

    def _prefix(self, row: int) -> bytes:
        """The namespace prefix that the file gives its elements, with its colon."""
        end = self.document.ends[row]
        name = end.tag or self.document.content[end.stop :].removeprefix(b"</").split(b">")[0].strip()
        return name[: name.find(b":") + 1]

    def parser(self, column: str) -> Callable[[str], str]:
        """What makes a cell of a column of a text; the ids of nodes, which edges name, are not for changing."""
        # a file may break its own declaration; then its numbers count, as they stand
        declared = self.document.types.get(self.keys.get(column, "")) in ("int", "long")
        whole = declared and bool(self.frame[column].dropna().str.fullmatch(r"\s*[+-]?\d+\s*").all())

        def parse(text: str) -> str:
            if column not in self.keys:
                raise ValueError("the ids of nodes are not changed")
            if _FORBIDDEN.search(text):
                raise ValueError(f"{quoted(text)} holds characters that XML forbids")
            if whole and not re.fullmatch(r"\s*[+-]?\d+\s*", text):
                raise ValueError(f"{quoted(text)} is not an integer, the declared type of {column!r}")
            return text

        return parse


def _opened(tag: bytes, text: bytes) -> bytes:
    """What replaces the end of an empty element's tag, or just the text."""
    return b">%b</%b>" % (text, tag) if tag else text


def read_graphml(path: Path) -> GraphML:
    """Read nodes, their attributes and the edges; nested graphs, hyperedges and ports are not read."""
    with readable(path, "GraphML"):
        with path.open("rb") as file:
            start = file.read(200)
        declared = _DECLARED.match(start.lstrip(b"\xef\xbb\xbf"))
        marked = start.startswith((codecs.BOM_UTF16_BE, codecs.BOM_UTF16_LE))
        # XML without a declaration is UTF-8, or UTF-16 with a byte order mark
        usual = None if marked else "utf-8"
        text = read_text(path, declared[1].decode() if declared else usual, longest_line=None)
        content = text.characters.encode()
        document = _Document(path, content)
        parser = expat.ParserCreate("utf-8")  # the encoding of the output, whatever the input declares
        parser.buffer_text = True
        parser.EntityDeclHandler = document.refuse_entities
        parser.StartElementHandler = lambda name, attributes: document.start(parser.CurrentByteIndex, name, attributes)
        parser.EndElementHandler = lambda name: document.end(parser.CurrentByteIndex, name)
        parser.CharacterDataHandler = document.characters
        parser.Parse(content, True)
    if document.root != "graphml" or document.graphs != 1:
        raise BadTable(
            f"{path} holds {document.graphs} graphs in a <{document.root}>; one graph in a <graphml> is needed"
        )
    if not document.ids:
        raise BadTable(f"{path} holds no nodes")
    return _tables(text.encoding, document)


@dataclass(eq=False)
class _Document:
    """Event handler of the streaming parser; no tree is built.

    ``content`` is the document in UTF-8; ``cells`` says for each node where the text of each key stands, ``ends`` where
    a new ``<data>`` can be put.
    """

    path: Path
    content: bytes
    stack: list[str] = field(default_factory=list)
    root: str = ""
    graphs: int = 0
    names: dict[str, str] = field(default_factory=dict)
    types: dict[str, str] = field(default_factory=dict)
    defaults: dict[str, str] = field(default_factory=dict)
    ids: list[str] = field(default_factory=list)
    rows: list[dict[str, str]] = field(default_factory=list)
    cells: list[dict[str, Span]] = field(default_factory=list)
    ends: list[Span] = field(default_factory=list)
    nested: set[str] = field(default_factory=set)
    edges: list[tuple[str, str]] = field(default_factory=list)
    weights: dict[int, str] = field(default_factory=dict)
    key: str = ""
    text: list[str] | None = None
    begun: int = 0
    begun_data: int = 0

    def refuse_entities(self, *_: Any) -> None:
        """Entities can be made to expand without end, and no graph needs them."""
        raise BadTable(f"{self.path} declares XML entities; they are not expanded, so the file is not read")

    def start(self, at: int, name: str, attributes: dict[str, str]) -> None:
        local = name.rpartition(":")[2]
        self.stack.append(local)
        if len(self.stack) > MAX_DEPTH:
            raise BadTable(f"{self.path} nests its elements more than {MAX_DEPTH} deep: it is not a graph")
        path = self.stack
        if len(path) == 1:
            self.root = local
        elif path == ["graphml", "graph"]:
            self.graphs += 1
        elif path == ["graphml", "key"]:
            self.key = attributes.get("id", "")
            self.names[self.key] = attributes.get("attr.name") or self.key
            self.types[self.key] = attributes.get("attr.type", "string")
        elif path == ["graphml", "graph", "node"]:
            self.ids.append(attributes.get("id", ""))
            self.rows.append({})
            self.cells.append({})
            self.begun = at
        elif path == ["graphml", "graph", "edge"]:
            self.edges.append((attributes.get("source", ""), attributes.get("target", "")))
        elif path in _WITH_TEXT:
            self.key = attributes.get("key", "") if local == "data" else self.key
            self.text, self.begun_data = [], at
        elif path[:-1] == ["graphml", "graph", "node", "data"]:
            self.nested.add(self.key)  # a drawing, not a value

    def characters(self, text: str) -> None:
        if self.text is not None and self.stack in _WITH_TEXT:
            self.text.append(text)

    def end(self, at: int, name: str) -> None:
        path = self.stack
        if path in _WITH_TEXT and self.text is not None:
            text, self.text = "".join(self.text), None
            if path[-1] == "default":
                self.defaults[self.key] = text
            elif path[-2] == "node":
                self.rows[-1][self.key] = text
                self.cells[-1][self.key] = self._inside(self.begun_data, at)
            elif self.names.get(self.key) == "weight":
                self.weights[len(self.edges) - 1] = text
        elif path == ["graphml", "graph", "node"]:
            inside = self._inside(self.begun, at)
            self.ends.append(inside if inside.tag else Span(at, at))
        path.pop()

    def _inside(self, start: int, stop: int) -> Span:
        """The text of the element whose tag begins at ``start`` and whose end tag begins at ``stop``."""
        tag = _START_TAG.match(self.content, start)
        if tag is None:
            raise BadTable(f"{self.path} has a tag at byte {start} that cannot be read")
        if tag[2]:
            return Span(tag.end() - 2, tag.end(), tag[1])
        return Span(tag.end(), stop)


_WITH_TEXT = (
    ["graphml", "key", "default"],
    ["graphml", "graph", "node", "data"],
    ["graphml", "graph", "edge", "data"],
)


def _tables(encoding: str, document: _Document) -> GraphML:
    columns: dict[str, Any] = {ID: pd.Series(document.ids, dtype="str")}
    keys: dict[str, str] = {}
    met = {key for row in document.rows for key in row}
    for key, given in document.names.items():
        if key not in met or key in document.nested:
            continue
        name = given if given not in columns else f"{given} ({key})"
        if name in columns:
            raise BadTable(f"{document.path}: two columns are named {name!r}; column names must be unique")
        keys[name] = key
        default = document.defaults.get(key)
        columns[name] = pd.Series([row.get(key, default) for row in document.rows], dtype="str")
    edges = pd.DataFrame(document.edges, columns=["source", "target"], dtype="str")
    if document.weights:
        usual = next((document.defaults[key] for key in document.defaults if document.names[key] == "weight"), "1")
        edges["weight"] = pd.Series([document.weights.get(k, usual) for k in range(len(edges))], dtype="str")
    return GraphML(document, encoding, keys, pd.DataFrame(columns), edges)
