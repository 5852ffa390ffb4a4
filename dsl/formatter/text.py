"""Assembles the formatted text: lines, comments and blank lines."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ..edits import Edit, applied
from ..parser.comments import columns
from ..parser.lexer import Line, as_read, ignored
from .breaks import INDENT, Breaks
from .line import LogicalLine

MAX_BLANK_LINES = 2
"""Maximum number of blank lines between definitions and statements of the file; inside blocks it is one."""


def layout(text: str, lines: Iterable[Line], line_length: int | None) -> str:
    """Return the formatted text of a source without syntax errors, given its logical lines."""
    return _Writer(text, line_length).write(lines)


def layout_range(text: str, lines: Iterable[Line], line_length: int | None, chosen: tuple[int, int]) -> str:
    """Return a text in which only the statements that touch the lines `chosen`, from 1, are formatted.

    They keep their indentation, and what is between them stays. So do those that `# fmt: off` or `# fmt: skip` exempt.
    """
    source, kept, edits, end, first = as_read(text), _Kept(), list[Edit](), 0, 1
    newline_of_text = "\r\n" if "\r\n" in text else "\n"
    for line in lines:
        *tokens, (_, newline) = line.tokens
        start = line.tokens[0][1].start
        column, _ = columns(source[source.rfind("\n", 0, start) + 1 : start])
        between = source[end:start].split("\n")
        first += len(between) - 1
        for own in between[:-1]:
            level = columns(own.partition("#")[0])[0]
            if "#" in own and not kept.goes_on(level, own.strip()):
                kept.begin(own.strip(), level, 0)
        if not tokens:
            break
        comment = source[newline.start : source.find("\n", newline.start)].rstrip("\r")
        end = newline.start + len(comment)
        last = first + source.count("\n", start, newline.start)
        is_chosen = first <= chosen[1] and last >= chosen[0]
        if is_chosen and not kept.goes_on(column) and not _is_skipped(comment):
            physical = _logical_line(LogicalLine(source, tokens), column, line_length)
            formatted = newline_of_text.join(physical).lstrip() + (f"  {comment.strip()}" if comment.strip() else "")
            edits.append(Edit(start, end, formatted))
        first = last
    return applied(text, [edit for edit in edits if source[edit.start : edit.end] != edit.text])


class _Writer:
    def __init__(self, text: str, line_length: int | None) -> None:
        self.text = as_read(text)
        self.line_length = line_length
        self.columns = [0]
        """Original indentation of the open blocks."""
        self.lines: list[str] = []
        self.at_block_start = True
        self.kept = _Kept()

    def write(self, lines: Iterable[Line]) -> str:
        end = 0
        for line in lines:
            kind, first = line.tokens[0]
            self.gap(self.text[end : first.start], line, kind == "$END")
            if kind != "$END":
                end = self.statement(line)
        newline = "\r\n" if "\r\n" in self.text.partition("\n")[0] + "\n" else "\n"
        return "".join(line + newline for line in self.lines)

    def statement(self, line: Line) -> int:
        """Write a logical line, and return the offset of the text that is not written yet."""
        *tokens, (_, newline) = line.tokens
        start, end = tokens[0][1].start, tokens[-1][1].end
        comment = self.text[newline.start : self.text.find("\n", newline.start)].rstrip("\r")
        if self.kept.level is not None:
            before = self.text[self.text.rfind("\n", 0, start) + 1 : start]
            end = newline.start + len(comment)
            self.lines.append(self.kept.moved(before) + self.text[start:end])
            self.at_block_start = False
        elif _is_skipped(comment):
            self.lines.append(" " * self.indent() + self.text[start:end])
        else:
            self.lines.extend(_logical_line(LogicalLine(self.text, tokens), self.indent(), self.line_length))
        return end

    def indent(self, level: int | None = None) -> int:
        return INDENT * (len(self.columns) - 1 if level is None else level)

    def gap(self, gap: str, line: Line, at_end: bool) -> None:
        """Write the text between two logical lines, and open and close blocks."""
        first, *own = ignored().sub("", gap, 1).split("\n") if self.lines else ("", *gap.lstrip("\f").split("\n"))
        if first.strip():
            self.lines[-1] += f"  {first.strip()}"
        if line.layout and line.layout[0][0] == "INDENT":
            self.columns.append(columns(own[-1])[0])
            self.at_block_start = True
        next_level = len(self.columns) - 1 - sum(kind == "DEDENT" for kind, _ in line.layout)
        level, blank = len(self.columns) - 1, 0
        for text in own[:-1]:
            comment = text.strip()
            column, _ = columns(text.partition("#")[0])
            while comment and level > next_level and column < self.columns[level]:
                level -= 1
            if self.kept.goes_on(level, comment):
                as_it_is = text.rstrip("\r")
                self.lines.append(self.kept.moved(as_it_is) if comment else as_it_is)
            elif comment:
                self.blank_lines(blank, level)
                self.lines.append(" " * self.indent(level) + comment)
                self.kept.begin(comment, level, self.indent(level) - self.columns[level])
                blank = 0
            else:
                blank += 1
        del self.columns[next_level + 1 :]
        if not self.kept.goes_on(next_level) and not at_end:
            self.blank_lines(blank, next_level)

    def blank_lines(self, count: int, level: int) -> None:
        if not self.at_block_start:
            self.lines.extend([""] * min(count, 1 if level else MAX_BLANK_LINES))
        self.at_block_start = False


def _logical_line(line: LogicalLine, indent: int, line_length: int | None) -> list[str]:
    """Return a logical line as physical lines."""
    breaks = Breaks(line, indent, line_length)
    closing = {line.closing[opening]: opening for opening in breaks.broken}
    opened, closed = breaks.wrapped or (-1, -1)
    lines: list[str] = []
    current = [" " * indent]
    comments: list[str] = []

    def begin(column: int, own: list[str], is_end: bool) -> None:
        if comments:
            current.append(f"  {comments.pop(0)}")
        margin = " " * (column + INDENT * is_end)
        lines.extend(["".join(current), *(margin + comment for comment in comments + own)])
        comments.clear()
        current[:] = [" " * column]

    for index, text in enumerate(line.texts):
        comments += line.end_comments[index]
        if index in breaks.starts:
            adds_comma = index in closing and line.takes_comma(closing[index])
            current.append(" (" if index == opened else "," if adds_comma else "")
            begin(breaks.starts[index], line.own_comments[index], index in closing or index == closed)
            current.append(")" + " " * line.spaced[index] if index == closed else "")
        else:
            comments += line.own_comments[index]
            current.append(" " * line.spaced[index])
        current.append(text)
    if closed == len(line.texts):
        begin(indent, [], is_end=True)
        current.append(")")
    return [*lines, "".join(current)]


_DIRECTIVE = re.compile(r"#\s*fmt:\s*(off|on|skip)(?!\S)")


def _directive(comment: str) -> str:
    match = _DIRECTIVE.match(comment)
    return match[1] if match else ""


def _is_skipped(comment: str) -> bool:
    """Return whether a comment at the end of a logical line exempts that line from formatting."""
    return _directive(comment) == "skip"


class _Kept:
    """Whether the current part is exempt from formatting: from `# fmt: off` to `# fmt: on` or the end of the block."""

    def __init__(self) -> None:
        self.level: int | None = None
        """Level of the block that contains `# fmt: off`."""
        self.shift = 0
        """Number of columns by which the lines move, because the enclosing block moves."""

    def begin(self, comment: str, level: int, shift: int) -> None:
        """Process a comment on a line of its own."""
        if _directive(comment) == "off":
            self.level, self.shift = level, shift

    def goes_on(self, level: int, comment: str = "") -> bool:
        """Return whether the exemption continues after a line at `level`, which may be a comment."""
        if self.level is not None and (level < self.level or (level == self.level and _directive(comment) == "on")):
            self.level = None
        return self.level is not None

    def moved(self, line: str) -> str:
        """Return a comment line, or the white space before a statement, at the new indentation of its block."""
        if not self.shift:
            return line
        content = line.lstrip(" \t\f")
        column, _ = columns(line[: len(line) - len(content)])
        return " " * max(0, column + self.shift) + content
