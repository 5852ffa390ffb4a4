"""Precedence: builds a tree from a flat chain of operands and operators, without recursion (Python's rules)."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from .. import syntax
from .lexer import Token

NOT, COMPARISON, SIGN, POWER = 3, 4, 11, 12

LEVELS = (
    ("or",),
    ("and",),
    (),
    ("<", "<=", ">", ">=", "==", "!="),
    ("|",),
    ("^",),
    ("&",),
    ("<<", ">>"),
    ("+", "-"),
    ("*", "/", "//", "%"),
    (),
    ("**",),
)
"""Binary operators by increasing precedence; the empty levels are those of `not` and of the signs."""
BINARY = {op: level for level, ops in enumerate(LEVELS, 1) for op in ops}


class _Operator(Struct, frozen=True, gc=False):
    level: int
    op: str
    prefix_at: int | None = None
    """Start of a prefix operator; None for a binary operator."""


class _Resolver:
    def __init__(self) -> None:
        self.operands: list[syntax.Expr] = []
        self.operators: list[_Operator] = []

    def reduce(self) -> None:
        operator = self.operators.pop()
        right = self.operands.pop()
        if operator.prefix_at is not None:
            node = syntax.Unary(start=operator.prefix_at, end=right.end, op=operator.op, operand=right)
        else:
            left = self.operands.pop()
            node = syntax.Binary(start=left.start, end=right.end, op=operator.op, left=left, right=right)
        self.operands.append(node)

    def reduce_to(self, level: int) -> None:
        while self.operators and self.operators[-1].level >= level:
            self.reduce()

    def binary(self, op: str) -> None:
        level = BINARY[op]
        if level == COMPARISON:
            self.reduce_to(COMPARISON + 1)
            if self.operators and self.operators[-1].level == COMPARISON:
                middle = self.operands[-1]
                self.reduce_to(COMPARISON)
                self.operators.append(_Operator(COMPARISON, "and"))
                self.operands.append(middle)
        else:
            self.reduce_to(level + (level == POWER))
        self.operators.append(_Operator(level, op))


def resolve(chain: list[syntax.Expr | Token], report: Callable[[Token, str], None]) -> syntax.Expr:
    """Return the expression of a chain that starts with a prefix or an operand and ends with an operand.

    `a < b < c` becomes `a < b and b < c`. `report` is called for a `not` that Python rejects, as in `a == not b`.
    """
    resolver = _Resolver()
    after_operand = False
    for item in chain:
        if not isinstance(item, Token):
            resolver.operands.append(item)
            after_operand = True
        elif after_operand:
            resolver.binary(item.text)
            after_operand = False
        else:
            level = NOT if item.text == "not" else SIGN
            if level == NOT and resolver.operators and resolver.operators[-1].level > NOT:
                report(item, resolver.operators[-1].op)
            resolver.operators.append(_Operator(level, item.text, item.start))
    resolver.reduce_to(0)
    return resolver.operands[0]
