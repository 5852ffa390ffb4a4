"""Splits text into logical lines of tokens; handles indentation, brackets and comments."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache

from msgspec import Struct
from msgspec.structs import replace

from ...grammar.tables import load
from ...ir.base import Source, Span
from ...ir.diagnostics import Diagnostic, Note
from .comments import Block, Comments, columns

ELSE = re.compile(r"(?:else|elif)\b")
MAX_BRACKETS = 20_000
MAX_BLOCKS = 5_000
MAX_TOKENS = int(os.environ.get("TVMS_MAX_TOKENS", "2000000"))
"""Maximum number of tokens: about ten seconds of reading, or 4 MB of ordinary text."""

NESTING = {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}


class Token(Struct, frozen=True, gc=False):
    """The text between two offsets. `NEWLINE`, `INDENT`, `DEDENT` and `$END` are empty."""

    start: int
    end: int
    text: str = ""


class Line(Struct, frozen=True, gc=False):
    """A logical line: a statement or its head, up to its NEWLINE, and the INDENT or DEDENTs before it."""

    layout: list[tuple[str, Token]]
    tokens: list[tuple[str, Token]]


class Problem(Struct, frozen=True):
    """An error in the text, by offsets; `notes` point to other positions."""

    code: str
    message: str
    start: int
    end: int
    help: str
    notes: tuple[tuple[str, Token], ...] = ()

    def diagnostic(self, source: Source) -> Diagnostic:
        """Return the problem as a diagnostic."""
        notes = tuple(Note(message, Span(source, token.start, token.end)) for message, token in self.notes)
        return Diagnostic(self.code, self.message, Span(source, self.start, self.end), self.help, notes)


class LimitError(Exception):
    """The text exceeds a limit; nothing after it is read."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message)
        self.problem = problem


@cache
def _scanners() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return the pattern of a token with the space after it, and that of the end of a line."""
    tables = load()
    signs = [re.escape(text) for text in sorted(tables.fixed, key=len, reverse=True) if not text.isalpha()]
    unclosed = r"(?:\"{3}|'{3})[\s\S]*+|[\"'][^\r\n]*+"
    groups = tables.patterns | {"SIGN": "|".join(signs), "UNCLOSED": unclosed, "INVALID": r"[\s\S]"}
    tokens = "|".join(f"(?P<{name}>{pattern})" for name, pattern in groups.items())
    return re.compile(rf"(?:{tokens}){ignored().pattern}"), re.compile(tables.patterns["NEWLINE"])


@cache
def ignored() -> re.Pattern[str]:
    """Return the pattern of the white space, possibly none, that may follow a token."""
    return re.compile(f"(?:{load().ignored})?")


@cache
def _fixed() -> frozenset[str]:
    return frozenset(load().fixed)


def as_read(text: str) -> str:
    """Return a text with a final newline, and with a form feed, which has no width, in place of a byte order mark."""
    whole = text if text.endswith("\n") else text + "\n"
    return "\f" + whole[1:] if text.startswith("\ufeff") else whole


class Lexer:
    """The logical lines of a text, with its comments in `comments`; bad indentation is reported to `report`.

    With `parts`, ranges of whole lines in order, only these are read: each is indented as its first line is.
    """

    def __init__(
        self, text: str, report: Callable[[Problem], None], parts: Sequence[tuple[int, int]] | None = None
    ) -> None:
        self.report = report
        self.text = as_read(text)
        self.comments = Comments()
        self.blocks = [Block(0, 0, 0)]
        self._same = "\n"
        """The usual text between two lines of the innermost block: a newline and the indentation."""
        self.tokens = 0
        size = len(self.text)  # it ends with a line end, which the text may lack
        ranges = ((0, size),) if parts is None else parts
        self._parts = [(start, size if end == len(text) else end) for start, end in ranges]
        """The part that is read, and those after it."""
        self._is_whole = parts is None

    @property
    def end(self) -> int:
        """The end of the part that is read."""
        return self._parts[0][1]

    def lines(self) -> Iterator[Line]:
        """Yield all lines; the last one holds only `$END`."""
        start, end = self._parts[0]
        _, newline = _scanners()
        lead = newline.match("\n" + self.text[start:end])
        assert lead is not None
        position = start + lead.end() - 1
        before = self.text[start:position]
        if before:
            self.comments.lead(before)
        indentation = before.rpartition("\n")[2]
        if not self._is_whole:
            column, tabless = columns(indentation)
            self.blocks = [Block(column, tabless, start)]
            self._same = "\n" + " " * column if column == tabless else ""
        yield from self._lines(position, self._layout(indentation, position))

    def lines_after(self, position: int) -> Iterator[Line]:
        """Yield the lines after the physical line that contains the token before `position`, with no open brackets."""
        _, newline = _scanners()
        found = newline.search(self.text, position, self.end)
        position = found.start() if found else self.end
        self.comments.pending = []
        return self._lines(position, [])

    def _lines(self, position: int, layout: list[tuple[str, Token]]) -> Iterator[Line]:
        size = self.end
        while position < size:
            tokens, newline = self._line(position)
            end, text = (newline.start(), newline["NEWLINE"]) if newline else (size, "")
            yield from self._close(layout, tokens, end, text)
            layout, position = [] if tokens else layout, size  # a line of `\` alone has no tokens
            if newline is not None:
                layout = layout + self._layout(newline["NEWLINE"], newline.end("NEWLINE"))
                position = newline.end()
        layout = layout + self._layout("\n", size)
        if len(self._parts) == 1:
            yield Line(layout, [("$END", Token(size, size))])
            return
        del self._parts[0]
        for index, line in enumerate(self.lines()):
            yield line if index else replace(line, layout=layout + line.layout)

    def _line(self, position: int) -> tuple[list[tuple[str, Token]], re.Match[str] | None]:
        """Return the tokens of the logical line that starts at `position`, and the newline that ends it, if any."""
        scan, _ = _scanners()
        fixed, size = _fixed(), self.end
        tokens: list[tuple[str, Token]] = []
        depth = 0
        for match in scan.finditer(self.text, position, size):
            kind = match.lastgroup or "INVALID"
            text = match[kind]
            if kind == "NEWLINE":
                if not depth or match.end() >= size:
                    return tokens, match
                if "#" in text:
                    self.comments.inside_brackets(text)
                continue
            self.tokens += 1
            if self.tokens > MAX_TOKENS:
                message = f"the text has more than {MAX_TOKENS:,} tokens"
                help = "keep large tensors in a file beside the text (I.constant), or set TVMS_MAX_TOKENS and wait"
                raise LimitError(Problem("E0010", message, match.start(), match.start() + 1, help))
            if text in fixed:
                kind = text
                if text in NESTING:
                    depth = self._nest(depth + NESTING[text], match.start())
            tokens.append((kind, Token(match.start(), match.end(match.lastgroup or 0), text)))
        return tokens, None

    def _close(
        self, layout: list[tuple[str, Token]], tokens: list[tuple[str, Token]], end: int, text: str
    ) -> Iterator[Line]:
        if tokens:
            tokens.append(("NEWLINE", Token(end, end)))
            first = tokens[0][1]
            self.comments.close_line(first.start, first.text, text.partition("\n")[0])
            yield Line(layout, tokens)

    def _nest(self, depth: int, position: int) -> int:
        if depth > MAX_BRACKETS:
            message = f"brackets nest more than {MAX_BRACKETS:,} deep"
            help = "assign parts of the expression to names"
            raise LimitError(Problem("E0010", message, position, position + 1, help))
        return max(0, depth)

    def _layout(self, text: str, position: int) -> list[tuple[str, Token]]:
        """Compare the indentation at `position`, the end of `text`, to that of the open blocks."""
        if text == self._same and position != self.end:
            return []
        _, *between, indentation = text.split("\n") if "\n" in text else ("", text)
        outermost = self.blocks[0]
        at_end = position == self.end
        column, tabless = (outermost.column, outermost.tabless) if at_end else columns(indentation)
        here = Token(position, position)
        top = self.blocks[-1]
        if column > top.column:
            self._check_tabs(tabless > top.tabless, here, indentation)
            self.comments.own_lines(between, [], False)
            if len(self.blocks) > MAX_BLOCKS:
                message = f"blocks nest more than {MAX_BLOCKS:,} deep"
                help = "move the innermost blocks to other functions"
                raise LimitError(Problem("E0010", message, position, position, help))
            self.blocks.append(Block(column, tabless, self.comments.anchor))
            self._same = "\n" + " " * column if column == tabless else ""
            return [("INDENT", here)]
        closed: list[Block] = []
        while len(self.blocks) > 1 and column < self.blocks[-1].column and column <= self.blocks[-2].column:
            closed.append(self.blocks.pop())
        top = self.blocks[-1]
        if column != top.column:
            message = "this line is indented less than its block, but more than the block around it"
            self._bad_indentation(message, here, indentation, f"indent it by {top.column} columns")
        else:
            self._check_tabs(tabless == top.tabless, here, indentation)
        self._same = "\n" + " " * top.column if top.column == top.tabless else ""
        before_else = ELSE.match(self.text, position) is not None
        self.comments.own_lines(between, closed, before_else)
        return [("DEDENT", here)] * len(closed)

    def _check_tabs(self, consistent: bool, here: Token, indentation: str) -> None:
        if not consistent:
            self._bad_indentation(
                "tabs and spaces are mixed in the indentation", here, indentation, "indent with spaces only"
            )

    def _bad_indentation(self, message: str, here: Token, indentation: str, help: str) -> None:
        start = here.start - len(indentation)
        self.report(Problem("E0007", message, start, here.end, help))
