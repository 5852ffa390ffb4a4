"""Rows for tensors of texts, which are computed on the host."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

from ....ir import relax
from ....ir.api.relax import op
from ....ir.building.values import apply, const
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


def words_of(words: list[str] | None) -> relax.Tuple:
    """Return words as an argument of an operator."""
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
    made = apply(
        "text_normalize", a.X, words_of(a.stopwords), relax.StringImm(a.case_change_action), a.is_case_sensitive
    )
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


@ROWS.row("RegexFullMatch", takes_objects=True)
def _full_match(c: Converter, a: Any) -> relax.Expr:
    """Match by Python's `re`, of whose syntax that of the standard, RE2, is nearly a part."""
    try:
        re.compile(a.pattern)
    except (re.error, RecursionError, OverflowError) as problem:
        raise ValueError(f"the pattern is not a regular expression: {problem}") from None
    sizes = text_kind(c, a.X).sizes
    made = apply("text_full_match", a.X, relax.StringImm(a.pattern))
    return c.declared(made, TensorKind("bool", sizes))


@ROWS.row("TfIdfVectorizer", takes_objects=True)
def _term_frequencies(c: Converter, a: Any) -> relax.Expr:
    """Count the sequences of a pool in each row of words or numbers, and weight the counts."""
    import numpy as np

    kind = c.kind(a.X)
    if not isinstance(kind, TensorKind) or kind.sizes is None or len(kind.sizes) > 2:
        raise error("E1006", f"its input is {described(kind)}, not a vector or matrix")
    pool: list[Any] = a.pool_strings or a.pool_int64s or []
    ends = [*a.ngram_counts, len(pool)]
    groups = [(first, last, size) for size, (first, last) in enumerate(pairwise(ends), 1)]
    if ends != sorted(ends) or any((last - first) % size for first, last, size in groups):
        raise ValueError(f"ngram_counts {a.ngram_counts} do not divide a pool of {len(pool)}")
    lengths = [size for first, last, size in groups for _ in range((last - first) // size)]
    if len(a.ngram_indexes) != len(lengths) or min(a.ngram_indexes, default=0) < 0:
        raise ValueError(f"it has {len(a.ngram_indexes)} ngram_indexes for {len(lengths)} sequences")
    width = max(a.ngram_indexes, default=-1) + 1
    if width > _MOST_COLUMNS:
        raise c.unsupported(f"its result has {width} columns", f"use at most {_MOST_COLUMNS}")
    is_used = [a.min_gram_length <= size <= a.max_gram_length for size in lengths]
    starts = np.cumsum([0, *lengths])
    used = [n for n, flag in enumerate(is_used) if flag]
    parts = [item for n in used for item in pool[starts[n] : starts[n + 1]]]
    words = words_of(parts) if a.pool_strings else const(np.array(parts, "int64"))
    columns = [const(np.array([part[n] for n in used], "int64")) for part in (lengths, a.ngram_indexes)]
    made = apply("ngram_counts", a.X, words, *columns, width, a.max_skip_count)
    counts = c.declared(made, TensorKind("float32", (*kind.sizes[:-1], width)))
    weights = const(np.array(a.weights if a.weights else np.ones(width), "float32"))
    if a.mode == "TF":
        return counts
    if a.mode == "TFIDF":
        return op.multiply(counts, weights)
    return op.where(op.greater(counts, const(0.0, "float32")), weights, const(0.0, "float32"))


_MOST_COLUMNS = 2**24
"""Maximum number of columns of counts."""
