"""Drives the LALR tables over the lines of a text, and continues with the next line after an error.

After an error the stacks are cut back to the start of the line, and the rest of the line is skipped. If an indented
block follows, a placeholder replaces the skipped head, so that errors in the block are found as well. Definitions
with errors are not part of the tree.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from msgspec.structs import replace

from ...grammar.tables import load
from ...ir.base import Source, Span
from ...ir.diagnostics import Diagnostic
from .. import syntax
from .lexer import Lexer, LimitError, Line, Problem, Token
from .mistakes import head_name, missing_body, resume_after, undecorated, unexpected, unexpected_indent
from .place import UnexpectedToken
from .tree import Tree

MAX_TEXT = 16 * 2**20
MAX_ERRORS = 20


class _TooManyErrors(Exception): ...


def parse_syntax(
    source: Source, parts: Sequence[tuple[int, int]] | None = None
) -> tuple[syntax.File, tuple[Diagnostic, ...]]:
    """Return the tree of a text and its syntax errors in order; after 20 errors the rest is not read.

    Definitions with an error are not in the tree; their names are in `broken`. With `parts`, ranges of whole lines in
    order, only these are read; each is indented as its first line is.
    """
    file, diagnostics, _ = parse_lines(source, parts)
    return file, diagnostics


def parse_lines(
    source: Source, parts: Sequence[tuple[int, int]] | None = None
) -> tuple[syntax.File, tuple[Diagnostic, ...], list[Line]]:
    """Return the results of `parse_syntax`, and the logical lines."""
    if len(source.text) > MAX_TEXT:
        message = f"the text is longer than {MAX_TEXT // 2**20} MiB"
        help = "keep large tensors in a file beside the text: I.constant"
        return syntax.File(source, ()), (Diagnostic("E0010", message, Span(source, 0, 0), help),), []
    driver = _Driver(source, parts)
    file = driver.file()
    return file, tuple(diagnostic for _, diagnostic in sorted(driver.found, key=lambda found: found[0])), driver.lines


@cache
def _passed_on(_: str) -> dict[tuple[int, int, str], int]:
    """Return the cache of `_Driver.pass_on` for the tables with a digest."""
    return {}


class _Driver:
    def __init__(self, source: Source, parts: Sequence[tuple[int, int]] | None) -> None:
        self.source = source
        self.found: list[tuple[int, Diagnostic]] = []
        self.broken: set[int] = set()
        """Starts of the values on the stack at an error; they include the heads of all enclosing statements."""
        self.broken_names: list[str] = []
        self.has_unnamed = False
        self.lexer = Lexer(source.text, self.report, parts)
        self.lines: list[Line] = []
        tables, tree = load(), Tree(self.lexer.comments, self.report)
        self.table = tables.states
        self.rules = [
            (rule.origin, rule.size, getattr(tree, rule.action) if rule.action else None) for rule in tables.rules
        ]
        self.passed_on = _passed_on(tables.digest)
        self.states: list[int] = [0]
        self.values: list[Any] = []
        self.height = 1
        """Number of states before the current line; decorators are one line with the definition below them."""
        self.decorator: Token | None = None
        """The previous line, if it is a decorator."""
        self.dropped = False

    def file(self) -> syntax.File:
        """Parse the text."""
        lines: Iterator[Line] | None = self.lexer.lines()
        try:
            while lines is not None:
                lines = self.parse(lines)
            body: Sequence[syntax.Stmt] = self.sound(self.values[0])
        except LimitError as error:
            self.report(error.problem)
            body = ()
        except _TooManyErrors:
            body = ()
        return syntax.File(
            self.source,
            tuple(body),
            header=self.lexer.comments.header,
            footer=tuple(self.lexer.comments.pending),
            broken=tuple(dict.fromkeys(self.broken_names)),
            has_unnamed=self.has_unnamed,
        )

    def parse(self, lines: Iterator[Line]) -> Iterator[Line] | None:
        """Parse to the end; after an error that requires a new division into lines, return the new lines."""
        for line in lines:
            self.lines.append(line)
            for kind, token in line.layout:
                self.begin(kind, token)
            resume = self.parse_line(line.tokens)
            if resume is not None:
                return self.lexer.lines_after(resume)
        return None

    def parse_line(self, tokens: list[tuple[str, Token]]) -> int | None:
        """Parse one logical line; after an error, return the offset from which to divide the text anew, or None."""
        kind, first = tokens[0]
        begun = self.begin(kind, first)
        height = len(self.states) - begun
        decorator, self.decorator, self.dropped = self.decorator, None, False
        if not decorator:
            self.height = height
        failed = self.advance(tokens, 1) if begun else 0
        if failed == len(tokens):
            self.decorator = Token(first.start, tokens[-2][1].end) if kind == "@" else None
            return None
        self.cut(height)
        self.advance(tokens[:failed])  # advance again, without the reductions that preceded the error
        self.report(unexpected(UnexpectedToken(self.lexer.text, tokens, failed, self.expected()), decorator))
        self.cut(self.height)
        names = list(head_name(self.lexer.text, first))
        self.broken_names.extend(names)
        self.has_unnamed |= not names and (decorator is not None or kind in ("def", "class"))
        self.dropped = True
        return resume_after(self.lexer.text, tokens, failed)

    def begin(self, kind: str, token: Token) -> bool:
        """Shift the first token of a line, or its layout, after closing what the previous lines left open."""
        if self.takes(kind, token):
            return True
        if "INDENT" in self.table[self.states[-1]]:
            colon, here = self.values[-2:]
            self.report(missing_body(colon))
            self.advance([("INDENT", here), ("pass", here), ("NEWLINE", here), ("DEDENT", here)])
        if self.decorator:
            self.report(undecorated(self.decorator))
            self.cut(self.height)
            self.decorator = None
            if self.takes(kind, token):
                return True
        here = Token(token.start, token.start)
        if kind == "DEDENT":  # of a block whose lines were all skipped
            self.advance([("pass", self.values[-1]), ("NEWLINE", here)])
        elif kind == "INDENT":
            if not self.dropped:
                self.report(unexpected_indent(token))
            self.broken.add(token.start)
            self.advance([("if", here), ("True", here), (":", here), ("NEWLINE", here)])
        return self.takes(kind, token)

    def takes(self, kind: str, token: Token) -> bool:
        """Shift one token if it fits; return whether it did."""
        return self.advance([(kind, token)]) == 1

    def advance(self, tokens: list[tuple[str, Token]], index: int = 0) -> int:
        """Shift `tokens` from `index` on; return the index of the first that does not fit, else their number."""
        states, values, table, rules, passed_on = self.states, self.values, self.table, self.rules, self.passed_on
        for position in range(index, len(tokens)):
            kind, token = tokens[position]
            while True:
                action = table[states[-1]].get(kind)
                if action is None:
                    return position
                if action >= 0:
                    states.append(action)
                    values.append(token)
                    break
                origin, size, build = rules[~action]
                if build is None:
                    here = (states[-2], states[-1], kind)
                    states[-1] = passed_on[here] if here in passed_on else self.pass_on(here)
                    continue
                if size:
                    arguments = values[-size:]
                    del states[-size:], values[-size:]
                    values.append(build(*arguments))
                else:
                    values.append(build())
                states.append(table[states[-1]][origin])
        return len(tokens)

    def pass_on(self, here: tuple[int, int, str]) -> int:
        """Return the state after all reductions that build nothing, given the two top states and the next token.

        An operand passes through every level of the grammar up to the one that accepts the next token.
        """
        below, state, kind = here
        while (action := self.table[state].get(kind, 0)) < 0 and self.rules[~action][2] is None:
            state = self.table[below][self.rules[~action][0]]
        self.passed_on[here] = state
        return state

    def cut(self, height: int) -> None:
        """Drop all states above `height`, and their values."""
        del self.states[height:], self.values[height - 1 :]

    def expected(self) -> set[str]:
        """Return the terminals that can come next."""
        origins = {origin for origin, _, _ in self.rules}
        return {kind for kind in self.table[self.states[-1]] if kind not in origins and self._shifts(kind)}

    def _shifts(self, kind: str) -> bool:
        states = self.states.copy()
        while (action := self.table[states[-1]].get(kind, 0)) < 0:
            origin, size, _ = self.rules[~action]
            del states[len(states) - size :]
            states.append(self.table[states[-1]][origin])
        return action > 0

    def report(self, problem: Problem) -> None:
        """Record an error, and mark all enclosing statements as broken."""
        around = (value for value in self.values if isinstance(value, Token | syntax.Syntax))
        self.broken.update(value.start for value in around if value.end > value.start)
        diagnostic = problem.diagnostic(self.source)
        if (problem.start, diagnostic) not in self.found:
            self.found.append((problem.start, diagnostic))
        if len(self.found) >= MAX_ERRORS:
            raise _TooManyErrors

    def sound(self, body: Sequence[syntax.Stmt], outermost: bool = True) -> tuple[syntax.Stmt, ...]:
        """Return the statements without errors; a module is kept without its broken functions."""
        kept: list[syntax.Stmt] = []
        for statement in body:
            definition = statement if isinstance(statement, syntax.Definition) else None
            if not (statement.start in self.broken or (definition and definition.name_start in self.broken)):
                kept.append(statement)
            elif definition and definition.params is None and outermost:
                kept.append(replace(definition, body=self.sound(definition.body, False)))
            elif definition:
                self.broken_names.append(definition.name)
        return tuple(kept)
