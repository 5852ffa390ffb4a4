"""Rows for tensors of texts, which are computed on the host."""

from __future__ import annotations

from typing import Any

from ....ir import relax
from ....ir.api.relax import op
from ....ir.building.values import apply
from ....ir.diagnostics import error
from .converter import Converter
from .kinds import Sizes, TensorKind, described
from .rows import Family

ROWS = Family()


def text_kind(c: Converter, value: relax.Expr) -> TensorKind:
    """Return the kind of a tensor of texts; E1006 for other values."""
    kind = c.kind(value)
    if not isinstance(kind, TensorKind) or kind.dtype != "string":
        raise error("E1006", f"its input is {described(kind)}, but the operator takes texts")
    return kind


def broadcast(a: Sizes | None, b: Sizes | None) -> Sizes | None:
    """Return the sizes that two tensors broadcast to; None for those that are not known."""
    if a is None or b is None:
        return None
    rank = max(len(a), len(b))
    pairs = zip((1,) * (rank - len(a)) + a, (1,) * (rank - len(b)) + b, strict=True)
    return tuple(y if x == 1 else x if y == 1 or x == y else None for x, y in pairs)


def _words(words: list[str] | None) -> relax.Tuple:
    return relax.Tuple(tuple(relax.StringImm(word) for word in words or []))


@ROWS.row("StringConcat", takes_objects=True)
def _concat(c: Converter, a: Any) -> relax.Expr:
    sizes = broadcast(text_kind(c, a.X).sizes, text_kind(c, a.Y).sizes)
    return c.with_kind(apply("text_concat", a.X, a.Y), TensorKind("string", sizes))


@ROWS.row("StringSplit", takes_objects=True)
def _split(c: Converter, a: Any) -> list[relax.Expr]:
    sizes = text_kind(c, a.X).sizes
    delimiter = relax.StringImm(a.delimiter or "")
    made: Any = c.emit(apply("text_split", a.X, delimiter, -1 if a.maxsplit is None else a.maxsplit), "_parts")
    counts = c.declared(made[1], TensorKind("int64", sizes))
    return [c.with_kind(made[0], TensorKind("string", None if sizes is None else (*sizes, None))), counts]


@ROWS.row("StringNormalizer", takes_objects=True)
def _normalize(c: Converter, a: Any) -> relax.Expr:
    sizes = text_kind(c, a.X).sizes
    if sizes is not None and not (len(sizes) == 1 or (len(sizes) == 2 and sizes[0] == 1)):
        raise error("E1006", f"its input has the shape {list(sizes)}", None, "give a vector, or a matrix of one row")
    made = apply("text_normalize", a.X, _words(a.stopwords), relax.StringImm(a.case_change_action), a.is_case_sensitive)
    return c.with_kind(made, TensorKind("string", None if sizes is None else (*sizes[:-1], None)))


@ROWS.row("Equal", since=19, takes_objects=True)
def _equal(c: Converter, a: Any) -> relax.Expr:
    """From version 19 on, texts can be compared as well."""
    kinds = [c.kind(value) for value in (a.A, a.B)]
    if not any(isinstance(kind, TensorKind) and kind.dtype == "string" for kind in kinds):
        c.check_tensors()
        return op.equal(a.A, a.B)
    sizes = broadcast(text_kind(c, a.A).sizes, text_kind(c, a.B).sizes)
    return c.declared(apply("text_equal", a.A, a.B), TensorKind("bool", sizes))
