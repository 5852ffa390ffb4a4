"""Differences between two revisions of a text, by structure: definitions, parameters, loops, statements, comments.

Layout does not count. A variable that a definition renames everywhere is one difference, not one for each statement.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import zip_longest

from msgspec import Struct

from ...ir.base import Source
from ..parser.lexer import NESTING
from .match import Matching, in_order
from .outline import CLAUSE, DEFINITION, FILE, LINE, STATEMENT, Node, comments_of, outline

_TUPLE = re.compile(r"\((?:[^()\"']*|\"[^\"]*\")*\)|\"[^\"]*\"")


class Change(Struct, frozen=True):
    """One difference. `kind` is "added", "removed", "changed", "moved" or "renamed"."""

    kind: str
    what: str
    """What changed, such as "function", "parameter", "loop" or "comment"."""
    path: tuple[str, ...]
    """The names of the definitions and the first lines of the statements around it, outermost first."""
    before: str = ""
    after: str = ""
    lines: tuple[int, int] = (0, 0)
    """Its line number in each revision, from 1; 0 if the revision lacks it."""


def differences(before: Source, after: Source) -> list[Change]:
    """Return the differences between two texts, in the order of the second; empty if only their layout differs."""
    return list(_Diff(outline(before), outline(after)).changes())


def what_is(node: Node) -> str:
    """Return what a node is called: "function", "module", "schedule", "loop", "block", "statement", "line"."""
    if node.kind == DEFINITION:
        head = " ".join(node.tokens)
        for word, name in (
            ("ir_module", "module"),
            ("class", "module"),
            ("S . schedule", "schedule"),
            ("macro", "macro"),
        ):
            if word in head.partition("(")[0] or (word == "class" and node.tokens[0] == "class"):
                return name
        return "function"
    words = {"for": "loop", "block": "block"}
    return words.get(node.key[0]) or ("line" if node.kind == LINE else "statement")


def text_of(node: Node) -> str:
    """Return the first lines of a node as one line, without comments at its end."""
    if node.kind == LINE:
        return node.title
    return " ".join(row.text.strip() for row in node.rows)


class _Diff:
    def __init__(self, before: Node, after: Node) -> None:
        self.before, self.after = before, after
        self.matching = Matching(before, after)
        self.renames: dict[Node, dict[str, str]] = {}
        """For each definition of the first tree, its renamed variables."""

    def changes(self) -> Iterator[Change]:
        if self.before.digest == self.after.digest:
            return
        yield from self._comments(self.before, self.after)
        yield from self._children(self.before, self.after)

    def _children(self, a: Node, b: Node) -> Iterator[Change]:
        """Yield the differences between two blocks: removed statements are at their old place."""
        old = self.matching.old
        places = {child: index for index, child in enumerate(a.children)}
        known = [child for child in b.children if old.get(child) in places]
        stays = {known[index] for index in in_order([places[old[child]] for child in known])}
        at = 0
        for child in b.children:
            if child in stays:
                stop = places[old[child]]
                yield from self._removed(a.children[at:stop])
                at = stop + 1
            before = old.get(child)
            if before is None:
                yield self._row("added", None, child)
                yield from self._inside_added(child)
                continue
            if child not in stays:
                yield self._row("moved", before, child)
            if before.digest != child.digest:
                yield from self._pair(before, child)
        yield from self._removed(a.children[at:])

    def _inside_added(self, node: Node) -> Iterator[Change]:
        """Yield the children of an added statement that were moved there, and the new ones beside them."""
        moved = [part for part in node.walk() if part is not node and part in self.matching.old]
        if not moved:
            return
        for child in node.children:
            before = self.matching.old.get(child)
            if before is None:
                yield self._row("added", None, child)
                yield from self._inside_added(child)
            else:
                yield self._row("moved", before, child)
                if before.digest != child.digest:
                    yield from self._pair(before, child)

    def _removed(self, nodes: Sequence[Node]) -> Iterator[Change]:
        for node in nodes:
            if node not in self.matching.new:
                yield self._row("removed", node, None)

    def _pair(self, a: Node, b: Node) -> Iterator[Change]:
        """Yield the differences between two versions of a statement."""
        if a.kind == DEFINITION:
            if a.name != b.name:
                yield self._row("renamed", a, b, a.name, b.name)
            self.renames[a] = renames = {} if what_is(a) == "module" else _renames(a, self.matching)
            for old, new in renames.items():
                yield Change("renamed", "variable", (*_path(b), _label(b)), old, new, (a.line, b.line))
            yield from self._signature(a, b, renames)
        elif _renamed(_code(a.tokens), self._renames_around(a)) != _code(b.tokens):
            yield self._row("changed", a, b)
        yield from self._comments(a, b)
        yield from self._children(a, b)

    def _renames_around(self, node: Node) -> dict[str, str]:
        around = node.parent
        while around is not None and around not in self.renames:
            around = around.parent
        return self.renames[around] if around is not None else {}

    def _signature(self, a: Node, b: Node, renames: dict[str, str]) -> Iterator[Change]:
        """Yield the differences between the heads of two definitions: parameters, the result, and the rest."""
        place, lines = (*_path(b), _label(b)), (a.line, b.line)
        old, new = _Head(_renamed(a.tokens, renames)), _Head(b.tokens)
        for name in [*old.params, *(name for name in new.params if name not in old.params)]:
            one, other = old.params.get(name), new.params.get(name)
            if one is None or other is None:
                kind = "added" if one is None else "removed"
                yield Change(kind, "parameter", place, _parameter(name, one), _parameter(name, other), lines)
            elif one != other:
                what, before, after = _narrowed(one, other)
                yield Change("changed", f"{what} of parameter '{name}'", place, before, after, lines)
        shared = [name for name in old.params if name in new.params]
        if shared != [name for name in new.params if name in old.params]:
            yield Change("moved", "parameters", place, ", ".join(old.params), ", ".join(new.params), lines)
        if old.result != new.result:
            what, before, after = _narrowed(old.result, new.result)
            yield Change("changed", f"{what} of the result", place, before, after, lines)
        if old.form != new.form:
            yield Change("changed", "head", place, old.form, new.form, lines)

    def _comments(self, a: Node, b: Node) -> Iterator[Change]:
        """Yield changed comments above a statement, at its end, and at the end of its block."""
        for one, other in (
            (comments_of(a.lead), comments_of(b.lead)),
            (_end_comments(a), _end_comments(b)),
            (comments_of(a.tail), comments_of(b.tail)),
        ):
            if one != other:
                for old, new in zip_longest(*_without_common_ends(one, other), fillvalue=""):
                    kind = "changed" if old and new else "added" if new else "removed"
                    yield Change(kind, "comment", _path(b), old, new, (a.line, b.line))

    def _row(self, kind: str, a: Node | None, b: Node | None, before: str = "", after: str = "") -> Change:
        node = b or a
        assert node is not None
        old, new = (text_of(side) if side is not None else "" for side in (a, b))
        lines = (a.line if a is not None else 0, b.line if b is not None else 0)
        return Change(kind, what_is(node), _path(node), before or old, after or new, lines)


def _path(node: Node) -> tuple[str, ...]:
    found: list[str] = []
    around = node.parent
    while around is not None and around.kind != FILE:
        if not (around.kind == STATEMENT and node.kind == CLAUSE):
            found.append(_label(around))
        around = around.parent
    return tuple(reversed(found))


def _label(node: Node) -> str:
    """Return how a statement is shown above the changes in it: a definition by its name."""
    return f"{what_is(node)} {node.name}" if node.kind == DEFINITION else node.title


def _is_name(token: str) -> bool:
    return token.isidentifier()


def _end_comments(node: Node) -> tuple[str, ...]:
    return tuple(token for token in node.tokens if token.startswith("#")) if node.kind != LINE else ()


def _without_common_ends(one: Sequence[str], other: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """Return two sequences without what they share at the start and at the end."""
    most = min(len(one), len(other))
    start = next((at for at in range(most) if one[at] != other[at]), most)
    end = next((at for at in range(most - start) if one[-1 - at] != other[-1 - at]), most - start)
    return one[start : len(one) - end], other[start : len(other) - end]


def _code(tokens: Sequence[str]) -> tuple[str, ...]:
    return tuple(token for token in tokens if not token.startswith("#"))


def _renames(definition: Node, matching: Matching) -> dict[str, str]:
    """Return the variables that a definition renames in all its statements, one to one."""
    new: dict[str, set[str]] = {}
    old: dict[str, set[str]] = {}
    for a in definition.walk():
        b = matching.new.get(a)
        if b is None or a.kind == LINE or len(_code(a.tokens)) != len(_code(b.tokens)):
            continue
        for before, one, other in zip(("", *_code(a.tokens)), _code(a.tokens), _code(b.tokens), strict=False):
            if before != "." and _is_name(one) and _is_name(other):
                new.setdefault(one, set()).add(other)
                old.setdefault(other, set()).add(one)
    name = definition.name
    return {
        one: next(iter(others))
        for one, others in new.items()
        if len(others) == 1
        and one not in others
        and len(old[next(iter(others))]) == 1
        and one not in old
        and one != name
    }


def _renamed(tokens: Sequence[str], renames: dict[str, str]) -> tuple[str, ...]:
    if not renames:
        return tuple(tokens)
    return tuple(
        renames.get(token, token) if before != "." else token
        for before, token in zip(("", *tokens), tokens, strict=False)
    )


class _Head:
    """The parts of the head of a definition."""

    def __init__(self, tokens: Sequence[str]) -> None:
        tokens = _code(tokens)
        opening = _parameters_at(tokens)
        self.params: dict[str, str] = {}
        self.result = ""
        self.form = " ".join(tokens[: opening - 1] if opening else ()) if opening else " ".join(tokens)
        if not opening:
            return
        depth, start = 0, opening + 1
        for index in range(opening, len(tokens)):
            depth += NESTING.get(tokens[index], 0)
            if (depth == 1 and tokens[index] == ",") or depth == 0:
                if index > start:
                    name, *rest = tokens[start:index]
                    self.params[name] = _joined(rest[1:] if rest and rest[0] == ":" else rest)
                start = index + 1
            if depth == 0:
                self.result = _joined(tokens[index + 2 : -1]) if tokens[index + 1 : index + 2] == ("->",) else ""
                break


def _parameters_at(tokens: Sequence[str]) -> int:
    """Return the place of the parenthesis that opens the parameters: the one after two names, or after `def NAME`."""
    depth = 0
    for index, token in enumerate(tokens):
        if (
            depth == 0
            and token == "("
            and index > 1
            and _is_name(tokens[index - 1])
            and (_is_name(tokens[index - 2]) or tokens[index - 2] == ")")
        ):
            return index
        depth += NESTING.get(token, 0)
    return 0


def _joined(tokens: Sequence[str]) -> str:
    """Return tokens as text with the spaces of the formatter, for short expressions."""
    text = ""
    for before, token in zip(("", *tokens), tokens, strict=False):
        tight = (
            not text
            or token in (",", ")", "]", "}", ".", ":", "(", "[")
            or before in ("(", "[", "{", ".", "=")
            or token == "="
        )
        text += token if tight else f" {token}"
    return text


def _parameter(name: str, kind: str | None) -> str:
    return "" if kind is None else f"{name}: {kind}" if kind else name


def _narrowed(before: str, after: str) -> tuple[str, str, str]:
    """Return what differs between two types: their shape, their dtype, or the whole type."""
    one, other = _TUPLE.findall(before), _TUPLE.findall(after)
    if _TUPLE.sub("", before) == _TUPLE.sub("", after) and len(one) == len(other):
        parts = [pair for pair in zip_longest(one, other) if pair[0] != pair[1]]
        if len(parts) == 1:
            is_shape = parts[0][0].startswith("(")
            return ("shape" if is_shape else "dtype"), parts[0][0], parts[0][1]
    return "type", before, after
