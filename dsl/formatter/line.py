"""A logical line for the formatter: the bracket of each token, and the comments and breaks before it."""

from __future__ import annotations

import re

from ..parser.lexer import NESTING, Token
from ..parser.operators import BINARY

CONDITIONAL = 0
"""Level of `if` and `else` in an expression, below those of all binary operators."""
OPERANDS = frozenset({"NAME", "NUMBER", "STRING", "True", "False", "None", "...", ")", "]", "}"})
SIGNS = frozenset({"+", "-", "*", "~"})
TIGHT_AFTER = frozenset({"(", "[", "{", ".", "@"})
TIGHT_BEFORE = frozenset({")", "]", "}", ".", ",", ":"})
GAP = re.compile(r"#[^\n]*|\\\r?\n|\n")


class LogicalLine:
    """The tokens of a logical line without its NEWLINE. All lists are parallel to `tokens`.

    `owner` is the index of the innermost bracket around a token (of a closing bracket, its opening one), or -1;
    `closing` maps an opening bracket to its closing one.
    """

    def __init__(self, source: str, tokens: list[tuple[str, Token]]) -> None:
        self.kinds = [kind for kind, _ in tokens]
        self.texts = [token.text for _, token in tokens]
        self.owner: list[int] = []
        self.closing: dict[int, int] = {}
        self.own_comments: list[list[str]] = []
        """Comments on lines of their own before the token."""
        self.end_comments: list[list[str]] = []
        """Comments at the end of the line before the token."""
        self.breaks: list[bool] = []
        """Whether there is a line break before the token."""
        self.separators: dict[int, list[int]] = {}
        """For each bracket, the commas between its elements, without those of a lambda's parameters."""
        self.levels: list[int | None] = []
        """The precedence of each binary operator, `CONDITIONAL` for `if` and `else` in an expression, else None."""
        self.spaced: list[bool] = []
        """Whether a space precedes the token if it is on the same line as the previous one."""
        self._find_owners()
        self._read_gaps(source, [token for _, token in tokens])
        self._space()
        self.ends = [0]
        """End of each token on a single line; `ends[i]` is for the token before `i`. A magic comma has no width: the
        formatter may have added it, and must find the same breaks again.
        """
        magic = {self.closing[opening] - 1 for opening in self.closing if self.ends_in_magic_comma(opening)}
        for index, (text, spaced) in enumerate(zip(self.texts, self.spaced, strict=True)):
            self.ends.append(self.ends[-1] + (0 if index in magic else spaced + len(text)))

    def width(self, start: int, stop: int) -> int:
        """Return the width of the tokens from `start` to before `stop` on one line."""
        return self.ends[stop] - self.ends[start] - self.spaced[start] if start < stop else 0

    def is_subscript(self, opening: int) -> bool:
        """Return whether a bracket encloses indices."""
        return self.texts[opening] == "[" and not self.is_bare(opening)

    def is_parenthesised(self, start: int, stop: int) -> bool:
        """Return whether the tokens from `start` to before `stop` are an expression in parentheses."""
        is_group = self.texts[start] == "(" and self.is_bare(start) and start not in self.separators
        return is_group and self.closing[start] == stop - 1 > start + 1

    def is_broken_at(self, operator: int) -> bool:
        """Return whether the author broke the line before or after an operator."""
        return self.breaks[operator] or self.breaks[operator + 1]

    def is_bare(self, opening: int) -> bool:
        """Return whether a bracket encloses neither arguments, parameters nor a subscript."""
        return not opening or self.kinds[opening - 1] not in OPERANDS

    def takes_comma(self, opening: int) -> bool:
        """Return whether a trailing comma may be added in a bracket without changing its meaning."""
        last = self.closing[opening] - 1
        if last == opening or self.kinds[last] == ",":
            return False
        is_call = self.texts[opening] == "(" and not self.is_bare(opening)
        is_display = self.texts[opening] != "(" and self.is_bare(opening)
        return is_call or is_display or opening in self.separators

    def ends_in_magic_comma(self, opening: int) -> bool:
        """Return whether a trailing comma in a bracket requests one element per line."""
        commas = self.separators.get(opening, [])
        if not commas or commas[-1] != self.closing[opening] - 1:
            return False
        is_tuple = self.texts[opening] == "(" and self.is_bare(opening)
        return len(commas) > 1 or not (is_tuple or self.is_subscript(opening))

    def _find_owners(self) -> None:
        opened = [-1]
        for index, text in enumerate(self.kinds):
            nesting = NESTING.get(text, 0)
            self.owner.append(opened[-1])
            if nesting > 0:
                opened.append(index)
            elif nesting < 0:
                self.closing[opened.pop()] = index

    def _read_gaps(self, source: str, tokens: list[Token]) -> None:
        end = tokens[0].start
        for token in tokens:
            gap = source[end : token.start]
            at_end: list[str] = []
            own: list[str] = []
            broken = False
            for piece in GAP.findall(gap) if "\n" in gap else ():
                if piece.startswith("#"):
                    (own if broken else at_end).append(piece.rstrip())
                broken = broken or piece == "\n"
            self.end_comments.append(at_end)
            self.own_comments.append(own)
            self.breaks.append(broken)
            end = token.end

    def _space(self) -> None:
        """Decide which tokens are preceded by a space, and which commas separate elements."""
        lambdas: list[int] = []  # brackets of the lambdas whose colon has not been read yet
        annotated = -1  # bracket of the current annotated parameter, whose default has spaces around `=`
        before, after_operand, after_sign, after_lambda = "", False, False, False
        for index, kind in enumerate(self.kinds):
            owner = self.owner[index]
            in_lambda = bool(lambdas) and lambdas[-1] == owner
            tight = not before or after_sign or before in TIGHT_AFTER
            tight = tight or (kind in TIGHT_BEFORE and (before, kind) != (",", ":"))
            if kind in ("(", "["):
                tight = tight or after_operand
            if "=" in (kind, before):
                tight = tight or owner not in (-1, annotated)
            if before == ":" and not after_lambda:
                tight = tight or (owner >= 0 and self.is_subscript(owner))
            self.spaced.append(not tight)
            is_conditional = kind in ("if", "else") and after_operand
            self.levels.append(
                CONDITIONAL if is_conditional else BINARY.get(self.texts[index]) if after_operand else None
            )
            after_lambda = kind == ":" and in_lambda
            if kind == "lambda":
                lambdas.append(owner)
            elif after_lambda:
                lambdas.pop()
            elif kind == "," and not in_lambda:
                self.separators.setdefault(owner, []).append(index)
                annotated = -1 if annotated == owner else annotated
            elif kind == ":" and not after_lambda and owner >= 0 and self.texts[owner] == "(":
                annotated = owner
            after_sign = kind in SIGNS and not after_operand
            before, after_operand = kind, kind in OPERANDS
