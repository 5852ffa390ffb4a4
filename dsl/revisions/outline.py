"""The concrete tree of a text: statements with their comments and layout, so that the tree is the text again.

A statement is its physical lines, and the comments and blank lines before it. Names are not resolved and expressions are
not parsed, so that a text in any dialect has a tree; what is not a text of the language has one node per line.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from typing import NamedTuple

from ...ir.base import Source
from ..embedded import is_host, read_host
from ..embedded.host import Definition
from ..parser.comments import columns
from ..parser.driver import parse_lines
from ..parser.lexer import NESTING, Line, Token, as_read

CLAUSES = frozenset({"else", "elif"})
DEFINITION, STATEMENT, CLAUSE, LINE, FILE = "definition", "statement", "clause", "line", "file"
_KEYWORDS = frozenset({"for", "if", "while", "with", "return", "assert", "pass", "import", "from"})


class Row(NamedTuple):
    """A physical line: its columns beyond those of its statement, or None if a string contains its start; and its text."""

    indent: int | None
    text: str

    def at(self, column: int) -> str:
        """Return the line of a statement that starts at `column`."""
        if self.indent is None or not self.text:
            return self.text
        return " " * max(column + self.indent, 0) + self.text


class Node:
    """A statement, definition or clause; or a line of another text."""

    __slots__ = ("children", "column", "digest", "key", "kind", "lead", "line", "parent", "rows", "size", "start", "tail", "tokens")  # fmt: skip

    def __init__(
        self, kind: str, tokens: Sequence[str], rows: Sequence[Row], column: int, line: int, start: int
    ) -> None:
        self.kind, self.tokens, self.rows, self.column, self.line, self.start = kind, tuple(tokens), tuple(rows), column, line, start  # fmt: skip
        self.lead: tuple[Row, ...] = ()
        """The comments and blank lines before it."""
        self.tail: tuple[Row, ...] = ()
        """The comments at the end of its block."""
        self.children: list[Node] = []
        self.parent: Node | None = None
        self.key = _key(kind, self.tokens)
        """What identifies it among its siblings: its name, or what it assigns."""
        self.digest = b""
        """Hash of its tokens and comments, and those of its children."""
        self.size = 1
        """Number of statements."""

    def __repr__(self) -> str:
        return f"<{self.kind} {self.title!r} at line {self.line}>"

    @property
    def title(self) -> str:
        """Its first line."""
        return self.rows[0].text if self.rows else ""

    @property
    def name(self) -> str:
        """The name of a definition."""
        return self.key[1] if self.kind == DEFINITION else ""

    def walk(self) -> Iterator[Node]:
        """Yield the node and all nodes below it in the order of the text."""
        pending: list[Node] = [self]
        while pending:
            node = pending.pop()
            yield node
            pending.extend(reversed(node.children))

    def lines(self, column: int) -> Iterator[str]:
        """Yield the lines of the node and those below it, with the statement at `column`."""
        pending: list[tuple[Node | None, tuple[Row, ...], int]] = [(self, (), column)]
        while pending:
            node, rows, place = pending.pop()
            if node is None:
                yield from (row.at(place) for row in rows)
                continue
            yield from (row.at(place) for row in (*node.lead, *node.rows))
            parts: list[tuple[Node | None, tuple[Row, ...], int]] = [
                (child, (), node.column_of(child, place)) for child in node.children
            ]
            parts.insert(node.body_size, (None, node.tail, place + node.depth))
            pending.extend(reversed(parts))

    @property
    def body_size(self) -> int:
        """The number of children before the first clause."""
        return sum(child.kind != CLAUSE for child in self.children)

    @property
    def depth(self) -> int:
        """The columns by which its block is indented."""
        first = next((child for child in self.children if child.kind != CLAUSE), None)
        return 0 if self.kind == FILE else 4 if first is None else first.column - self.column

    def column_of(self, child: Node, place: int) -> int:
        """Return the column of a child, if the node itself is at `place`."""
        if self.kind == FILE:
            return child.column
        return place if child.kind == CLAUSE else place + self.depth


def comments_of(rows: Iterable[Row]) -> tuple[str, ...]:
    """Return the comments among rows."""
    return tuple(row.text for row in rows if row.text.strip())


def outline(source: Source) -> Node:
    """Return the tree of a text, or of a host whose definitions are trees; a text with syntax errors is a list of lines."""
    text = source.text.replace("\r\n", "\n").removeprefix("\ufeff")
    source = Source(source.name, text)
    host = None
    if is_host(source.name):
        if source.name.endswith(".ipynb"):
            return flat(text)
        host = read_host(source)
    if host is not None:
        return _of_host(source, host.definitions)
    _, problems, lines = parse_lines(source)
    if problems:
        return flat(text)
    return _finished(_Builder(as_read(text), 0, len(as_read(text))).build(lines))


def flat(text: str) -> Node:
    """Return a tree with one node per line."""
    root = Node(FILE, (), (), 0, 1, 0)
    root.children = list(_plain_lines(text, 0, len(text), 1))
    return _finished(root)


def _plain_lines(text: str, start: int, end: int, line: int) -> Iterator[Node]:
    for row in text[start:end].split("\n") if end > start else ():
        if start < len(text) or row:
            yield Node(LINE, (row,), (Row(None, row),), 0, line, start)
        start, line = start + len(row) + 1, line + 1
        if start >= end:
            break


def _of_host(source: Source, definitions: Sequence[Definition]) -> Node:
    root, at = Node(FILE, (), (), 0, 1, 0), 0
    text = source.text
    for definition in definitions:
        root.children += _plain_lines(text, at, definition.start, text.count("\n", 0, at) + 1)
        _, problems, lines = parse_lines(source, ((definition.start, definition.end),))
        if problems:
            root.children += _plain_lines(
                text, definition.start, definition.end, text.count("\n", 0, definition.start) + 1
            )
        else:
            inner = _Builder(as_read(text), definition.start, definition.end).build(lines)
            root.children += inner.children
            root.children += [Node(LINE, (row.text,), (row,), 0, 0, definition.end) for row in inner.tail]
        at = definition.end
    root.children += _plain_lines(text, at, len(text), text.count("\n", 0, at) + 1)
    return _finished(root)


class _Builder:
    """Builds the tree of a range of a text from its logical lines."""

    def __init__(self, text: str, start: int, end: int) -> None:
        self.text, self.end = text, end
        self.at = start
        """The offset of the text that is not in the tree yet."""
        self.line = text.count("\n", 0, start) + 1
        self.root = Node(FILE, (), (), 0, 1, start)
        self.open: list[Node] = [self.root]
        """The nodes whose blocks are open."""
        self.columns = [0]
        self.decorators: list[Line] = []
        self.lead: tuple[Row, ...] = ()
        """What precedes the decorators."""

    def build(self, lines: Iterable[Line]) -> Node:
        previous: Node | None = None
        for line in lines:
            kind, first = line.tokens[0]
            if line.layout and line.layout[0][0] == "INDENT" and previous is not None:
                self.open.append(previous)
                self.columns.append(self._column(first.start))
            elif len(self.open) == 1:
                self.columns[0] = self._column(first.start) if kind != "$END" else self.columns[0]
            closing = sum(name == "DEDENT" for name, _ in line.layout)
            lead = self._gap(self.end if kind == "$END" else first.start, closing, kind == "$END")
            if kind == "$END":
                self.root.tail = lead
                break
            if kind == "@":
                self.decorators.append(line)
                self.lead = lead if len(self.decorators) == 1 else self.lead
                continue
            previous = self._statement(line, lead)
        self._take_header()
        return self.root

    def _take_header(self) -> None:
        """Move the comments at the top, up to a blank line, from the first statement to the file."""
        first = self.root.children[0] if self.root.children else None
        if first is None or not first.lead or not first.lead[0].text.startswith("#"):
            return
        blank = [index for index, row in enumerate(first.lead) if not row.text]
        size = blank[0] if blank else int(first.lead[0].text.startswith("#tvms"))
        while blank and size < len(first.lead) and not first.lead[size].text:
            size += 1
        self.root.lead, first.lead = first.lead[:size], first.lead[size:]

    def _column(self, start: int) -> int:
        return columns(self.text[self.text.rfind("\n", 0, start) + 1 : start])[0]

    def _gap(self, stop: int, closing: int, at_end: bool) -> tuple[Row, ...]:
        """Return the comments and blank lines before a statement, after those that end the blocks that it closes."""
        begin = stop if at_end else self.text.rfind("\n", 0, stop) + 1
        if self.decorators:
            return ()
        rows = self.text[self.at : begin].split("\n")[:-1] if begin > self.at else []
        self.line += len(rows)
        self.at = max(begin, self.at)
        waiting: list[tuple[int, str]] = []
        for text in rows:
            column = columns(text.partition("#")[0])[0]
            if text.strip():
                while closing and column < self.columns[-1]:
                    self._close()
                    closing -= 1
            waiting.append((column, text.strip() if text.strip() else ""))
            if closing and text.strip():
                self.open[-1].tail += self._rows(waiting, self.columns[-1])
                waiting = []
        for _ in range(closing):
            self._close()
        return self._rows(waiting, self.columns[-1])

    def _close(self) -> None:
        self.open.pop()
        self.columns.pop()

    def _rows(self, rows: Iterable[tuple[int, str]], column: int) -> tuple[Row, ...]:
        return tuple(Row(place - column if text else 0, text) for place, text in rows)

    def _statement(self, line: Line, lead: tuple[Row, ...]) -> Node:
        is_decorated = bool(self.decorators)
        tokens = [token for part in (*self.decorators, line) for token in part.tokens[:-1]]
        if is_decorated:
            lead = self.lead
        self.decorators = []
        start, newline = tokens[0][1].start, line.tokens[-1][1].start
        stop = self.text.find("\n", newline)
        column = self._column(start)
        inside = [token for _, token in tokens if "\n" in token.text]
        rows: list[Row] = []
        place = start
        for text in self.text[start:stop].split("\n"):
            is_raw = any(token.start < place < token.end for token in inside)
            indent = columns(text[: len(text) - len(text.lstrip())])[0] - column if place > start else 0
            rows.append(Row(None, text) if is_raw else Row(indent, text.strip() if place > start else text.rstrip()))
            place += len(text) + 1
        kind = _kind(tokens, is_decorated, self.text[newline:stop])
        comments = _comments(self.text, tokens, stop)
        node = Node(kind, (*(token.text for _, token in tokens), *comments), rows, column, self.line, start)
        node.lead = lead
        self.line += len(rows)
        self.at = stop + 1
        siblings = self.open[-1].children
        if kind == CLAUSE and siblings:
            siblings[-1].children.append(node)
        else:
            siblings.append(node)
        return node


def _comments(text: str, tokens: Sequence[tuple[str, Token]], stop: int) -> Iterator[str]:
    """Yield the comments between the tokens of a statement and at its end."""
    ends = [*(token.end for _, token in tokens)]
    starts = [*(token.start for _, token in tokens[1:]), stop]
    for end, start in zip(ends, starts, strict=True):
        gap = text[end:start]
        if "#" in gap:
            yield from (row[row.index("#") :].rstrip() for row in gap.split("\n") if "#" in row)


def _kind(tokens: Sequence[tuple[str, Token]], is_decorated: bool, end: str) -> str:
    texts = [token.text for _, token in tokens]
    if texts[0] in CLAUSES:
        return CLAUSE
    return DEFINITION if is_decorated or _name(texts) else STATEMENT


def _name(tokens: Sequence[str]) -> str | None:
    """Return the name of a definition that starts with these tokens: the last name before the parameters or the colon."""
    at = 0
    while tokens[at] == "@":  # a decorator ends where the next token starts a statement
        at = next(
            (place for place in range(at + 1, len(tokens)) if tokens[place] in ("@", "def", "class")), len(tokens) - 1
        )
    if tokens[at] in ("def", "class"):
        return tokens[at + 1]
    if tokens[0] in _KEYWORDS or not tokens[0].isidentifier():
        return None
    depth, before = 0, ""
    for token in tokens:
        depth += NESTING.get(token, 0)
        if depth == 0 and token.isidentifier() and (before.isidentifier() or before == ")"):
            return token if token not in ("if", "else", "and", "or", "not", "in") else None
        if depth == 0 and not (token in ".)" or token.isidentifier()):
            return None
        before = token
    return None


def _key(kind: str, tokens: tuple[str, ...]) -> tuple[str, str]:
    if kind == DEFINITION:
        return (kind, _name(tokens) or "")
    if kind == STATEMENT and tokens[0] == "with" and "block" in "".join(tokens[:4]):
        return ("block", "".join(tokens[5:6]))
    if kind == STATEMENT and tokens[0] == "for" and "in" in tokens:
        return ("for", " ".join(tokens[: tokens.index("in")]))
    if kind == CLAUSE:
        return (kind, tokens[0])
    depth = 0
    for index, token in enumerate(tokens):
        depth += NESTING.get(token, 0)
        if depth == 0 and (token == "=" or (token == ":" and index)):
            return ("=", " ".join(tokens[:index]))
    return (kind, "")


def _finished(root: Node) -> Node:
    """Return a tree after its parents and digests are set."""
    order = list(root.walk())
    for node in order:
        for child in node.children:
            child.parent = node
    for node in reversed(order):
        state = blake2b(digest_size=16)
        own = (*comments_of(node.lead), "\0", *node.tokens, "\0", *comments_of(node.tail))
        state.update("\1".join((node.kind, *own)).encode("utf-8", "surrogatepass"))
        for child in node.children:
            state.update(child.digest)
        node.digest = state.digest()
        node.size = 1 + sum(child.size for child in node.children)
    return root
