"""Expressions that are well typed by construction and never divide by zero.

An expression of a dtype is a leaf, or an operation of that dtype's family on smaller expressions. The caller provides
the leaves: constants, variables, elements of buffers.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TypeAlias

from hypothesis import strategies as st
from msgspec import Struct

from ...ir import make, tir
from ...ir.diagnostics import TvmsError
from ...ir.dtype import is_bool, is_float, is_int, is_vector, parse_dtype
from ...ir.visit import walk
from .choices import Choices

Leaves: TypeAlias = Callable[[Choices, str], tir.PrimExpr]
"""Function that chooses a leaf of a dtype."""
Grow: TypeAlias = Callable[[str], tir.PrimExpr]
"""Function that generates a smaller expression of a dtype."""
Operation: TypeAlias = Callable[[Choices, Grow, str], tir.PrimExpr]

Parts: TypeAlias = dict[str, list[tir.PrimExpr]]
"""Expressions of each dtype that this example contains so far."""

INTS = ("int32", "int64", "int8", "int16", "uint8", "uint16", "uint32")
FLOATS = ("float32", "float64", "float16", "bfloat16")
DTYPES = ("float32", "int32", "float64", "int64", "float16", "int8", "uint8", "bfloat16", "int16", "uint16", "uint32")
"""Element dtypes of generated buffers, except bool."""


def constants(choose: Choices, dtype: str) -> tir.PrimExpr:
    """Choose a small constant."""
    if is_bool(dtype):
        return make.const(choose.pick((False, True)), dtype)
    if is_float(dtype):
        return make.const(choose.pick((0.0, 1.0, 2.0, 0.5, -1.0, -2.5, 3.0)), dtype)
    return make.const(choose.pick((0, 1, 2, 3, 7) if dtype.startswith("u") else (0, 1, 2, 3, 7, -1, -5)), dtype)


class Operations(Struct, frozen=True):
    """Operations of each family of dtypes."""

    ints: tuple[Operation, ...]
    floats: tuple[Operation, ...]
    bools: tuple[Operation, ...]

    def of(self, dtype: str) -> tuple[Operation, ...]:
        """Return the operations whose results have `dtype`."""
        return self.bools if is_bool(dtype) else self.floats if is_float(dtype) else self.ints


@cache
def operations(names: frozenset[str] | None = None, dtypes: tuple[str, ...] | None = None) -> Operations:
    """Return the operations called `names` (`OPERATORS` lists all), with casts only between `dtypes`."""

    changed = _casts(dtypes) if dtypes is not None else {}

    def chosen(rows: tuple[tuple[str, Operation], ...]) -> tuple[Operation, ...]:
        found = [changed.get(term, term) for name, term in rows if names is None or name in names]
        return tuple([term for term in found if term is not None])

    return Operations(chosen(_INT), chosen(_FLOAT), chosen(_BOOL))


def _casts(dtypes: tuple[str, ...]) -> dict[Operation, Operation | None]:
    """Return the replacements of operations that use dtypes outside of `dtypes`."""
    others = len(dtypes) > 1

    def cast(choose: Choices, grow: Grow, dtype: str) -> tir.PrimExpr:
        return make.cast(grow(choose.pick(dtypes)), dtype)

    def compare(choose: Choices, grow: Grow, dtype: str) -> tir.PrimExpr:
        kind = choose.pick(dtypes)
        return choose.pick(_COMPARISONS)(grow(kind), grow(kind))

    counted = _counted if "int32" in dtypes else None
    return {_cast: cast if others else None, _narrowing: None, _recast: None, _comparison: compare, _counted: counted}


def expression(
    choose: Choices, dtype: str, leaves: Leaves, size: int, known: Operations | None = None, parts: Parts | None = None
) -> tir.PrimExpr:
    """Return an expression of `dtype` with about `size` of the `known` operations.

    Some subexpressions occur more than once, because rewrites look for common operands and for terms that cancel.
    """
    parts = {} if parts is None else parts
    earlier = parts.setdefault(dtype, [])
    if earlier and choose.rarely(5):
        return choose.pick(earlier)
    if size <= 0 or choose.number(0, 3) == 0:
        return leaves(choose, dtype)
    known = known or operations()
    family = known.of(dtype)
    if not family:
        return leaves(choose, dtype)
    operate = choose.pick(family)
    try:
        found = operate(choose, lambda kind: expression(choose, kind, leaves, (size - 1) // 2, known, parts), dtype)
    except TvmsError:  # constants that fold to a value out of range of the dtype, or to a division by zero
        return leaves(choose, dtype)
    return _remembered(found, earlier)


def _remembered(expr: tir.PrimExpr, known: list[tir.PrimExpr]) -> tir.PrimExpr:
    """Return whether an expression may occur again: constants may not, nor may binders, whose variable is bound only once."""
    if not isinstance(expr, tir.IntImm | tir.FloatImm) and not any(isinstance(node, tir.Let) for node in walk(expr)):
        known.append(expr)
    return expr


_STEPS = (2, 3, 4, 6, 8, 12)


def index_expression(choose: Choices, leaves: Leaves, size: int, parts: Parts | None = None) -> tir.PrimExpr:
    """Return an int32 index as tiling and fusion make them: sums of multiples, quotients and remainders by constants,
    selects. Subexpressions and constants occur more than once.
    """
    parts = {} if parts is None else parts
    known, steps = parts.setdefault("int32", []), parts.setdefault("steps", [])
    if known and choose.rarely(4):
        return choose.pick(known)
    if size <= 0:
        return leaves(choose, "int32")
    half = (size - 1) // 2
    value = index_expression(choose, leaves, half, parts)
    constant = choose.pick(steps) if steps and choose.rarely(2) else make.const(choose.pick(_STEPS))
    steps.append(constant)
    return _remembered(
        _index_operation(choose, value, constant, lambda: index_expression(choose, leaves, half, parts)), known
    )


def _index_operation(
    choose: Choices, value: tir.PrimExpr, constant: tir.PrimExpr, other: Callable[[], tir.PrimExpr]
) -> tir.PrimExpr:
    match choose.number(0, 11):
        case 11:
            return _alike(choose, value, other(), choose.pick((constant, make.neg(constant))))
        case 0 | 1:
            return make.floordiv(value, constant)
        case 2 | 3:
            return make.floormod(value, constant)
        case 4 | 5:
            return make.add(make.mul(value, constant), other())
        case 6:
            return choose.pick((make.add, make.sub))(value, make.const(choose.number(1, 9)))
        case 7:
            return choose.pick((make.minimum, make.maximum, make.sub))(value, other())
        case 8:
            return make.sub(value, make.mul(make.floordiv(value, constant), constant))
        case 9:
            divide = choose.pick((make.truncdiv, make.truncmod, make.floordiv, make.floormod))
            return divide(choose.pick((make.minimum, make.maximum, make.sub))(value, other()), make.neg(constant))
        case _:
            condition = choose.pick((make.less, make.less_equal, make.equal))(value, constant)
            return make.select(condition, other(), value)


_SHARED = (
    make.floordiv, make.truncdiv, make.floormod, make.truncmod, make.mul, make.minimum, make.maximum, make.add, make.sub,
)  # fmt: skip
_JOINED = (make.minimum, make.maximum, make.add, make.sub)


def _alike(choose: Choices, a: tir.PrimExpr, b: tir.PrimExpr, common: tir.PrimExpr) -> tir.PrimExpr:
    """Join two operations of one kind that share an operand, which rewrites take out: `T.min(a // c, b // c)`."""
    share, join = choose.pick(_SHARED), choose.pick(_JOINED)
    if choose.rarely(5):
        condition = make.less(common, a)
        return join(make.select(condition, a, b), make.select(condition, b, common))
    return join(share(a, common), share(b, common))


# --- Operations of every family -------------------------------------------------------------------------------


def _binary(make_binary: Callable[[tir.PrimExpr, tir.PrimExpr], tir.PrimExpr]) -> Operation:
    return lambda choose, grow, dtype: make_binary(grow(dtype), grow(dtype))


def _choice(choose: Choices, grow: Grow, dtype: str) -> tir.PrimExpr:
    make_choice = choose.pick((make.if_then_else, make.select))
    condition = make.call("tir.likely", (grow("bool"),), "bool") if choose.rarely(8) else grow("bool")
    return make_choice(condition, grow(dtype), grow(dtype))


def _cast(choose: Choices, grow: Grow, dtype: str) -> tir.PrimExpr:
    return make.cast(grow(choose.pick(("int32", "float32", "int8", "bool", "int64", "uint8"))), dtype)


def _narrowing(choose: Choices, grow: Grow, dtype: str) -> tir.PrimExpr:
    """Cast to another dtype and back."""
    return make.cast(make.cast(grow(dtype), choose.pick(INTS if is_int(dtype) else FLOATS)), dtype)


def _recast(choose: Choices, grow: Grow, dtype: str) -> tir.PrimExpr:
    """Cast from any dtype over any other one."""
    return make.cast(make.cast(grow(choose.pick(DTYPES)), choose.pick(DTYPES)), dtype)


def _let(choose: Choices, grow: Grow, dtype: str) -> tir.PrimExpr:
    variable = tir.Var(dtype, choose.fresh("x"))
    body = make.add(variable, grow(dtype)) if not is_bool(dtype) else make.logical_and(variable, grow(dtype))
    return tir.Let(dtype, variable, grow(dtype), body)


# --- Integers -------------------------------------------------------------------------------------------------


def _division(choose: Choices, grow: Grow, dtype: str) -> tir.PrimExpr:
    """Divide by a constant, which may be negative if the dtype is signed, or by an expression that is at least 1."""
    divide = choose.pick((make.floordiv, make.floormod, make.truncdiv, make.truncmod))
    signs = (1,) if parse_dtype(dtype).code == "uint" else (1, -1)
    if choose.rarely(3):
        return divide(grow(dtype), make.maximum(grow(dtype), make.const(1, dtype)))
    return divide(grow(dtype), make.const(choose.number(2, 7) * choose.pick(signs), dtype))


def _pair(choose: Choices, grow: Grow, dtype: str) -> tir.PrimExpr:
    """Join two operations that share a constant."""
    signs = (1,) if parse_dtype(dtype).code == "uint" else (1, -1)
    return _alike(choose, grow(dtype), grow(dtype), make.const(choose.number(2, 7) * choose.pick(signs), dtype))


def _shift(choose: Choices, grow: Grow, dtype: str) -> tir.PrimExpr:
    """Shift by a constant, or by a count that may be as many bits as the dtype has, or more."""
    shift = choose.pick((make.right_shift, make.left_shift))
    if choose.rarely(4):
        return shift(grow(dtype), make.bitwise_and(grow(dtype), make.const(choose.pick((7, 15, 63)), dtype)))
    if choose.rarely(4):
        most = parse_dtype(dtype).bits - 1
        return shift(
            grow(dtype), make.add(make.bitwise_and(grow(dtype), make.const(1, dtype)), make.const(most, dtype))
        )
    return shift(grow(dtype), make.const(choose.number(0, 4), dtype))


def _bits(choose: Choices, grow: Grow, dtype: str) -> tir.PrimExpr:
    return choose.pick((make.bitwise_and, make.bitwise_or, make.bitwise_xor))(grow(dtype), grow(dtype))


def _complement(choose: Choices, grow: Grow, dtype: str) -> tir.PrimExpr:
    return make.bitwise_not(grow(dtype))


def _counted(choose: Choices, grow: Grow, dtype: str) -> tir.PrimExpr:
    name = choose.pick(("popcount", "clz", "q_multiply_shift"))
    more = (grow("int32"), make.const(31), make.const(choose.number(-2, 4))) if name == "q_multiply_shift" else ()
    return make.cast(make.call(f"tir.{name}", (grow("int32"), *more), "int32"), dtype)


def _absolute(choose: Choices, grow: Grow, dtype: str) -> tir.PrimExpr:
    return make.abs(grow(dtype))


# --- Floats ---------------------------------------------------------------------------------------------------


def _quotient(choose: Choices, grow: Grow, dtype: str) -> tir.PrimExpr:
    """Divide by an expression that is at least one half."""
    return make.div(grow(dtype), make.add(make.abs(grow(dtype)), make.const(0.5, dtype)))


def _rounded(choose: Choices, grow: Grow, dtype: str) -> tir.PrimExpr:
    rounding = choose.pick(("tir.floor", "tir.ceil", "tir.trunc", "tir.round", "tir.nearbyint"))
    return make.call(rounding, (grow(dtype),), dtype)


# --- Truth ----------------------------------------------------------------------------------------------------


_COMPARISONS = (make.less, make.equal, make.less_equal, make.greater, make.greater_equal, make.not_equal)


def _comparison(choose: Choices, grow: Grow, dtype: str) -> tir.PrimExpr:
    kind = choose.pick(("int32", "float32", "int8", "uint8", "bool"))
    compare = choose.pick((make.equal, make.not_equal) if is_bool(kind) else _COMPARISONS)
    return compare(grow(kind), grow(kind))


def _negation(choose: Choices, grow: Grow, dtype: str) -> tir.PrimExpr:
    return make.logical_not(grow(dtype))


_Row: TypeAlias = tuple[str, Operation]
_ARITHMETIC: tuple[_Row, ...] = (
    ("add", _binary(make.add)), ("sub", _binary(make.sub)), ("mul", _binary(make.mul)), ("min", _binary(make.minimum)),
    ("max", _binary(make.maximum)),
)  # fmt: skip
_COMMON: tuple[_Row, ...] = (
    ("choice", _choice),
    ("cast", _cast),
    ("cast", _narrowing),
    ("cast", _recast),
    ("let", _let),
)
_INT: tuple[_Row, ...] = (
    *_ARITHMETIC, *(3 * [("division", _division)]), ("pair", _pair), ("bits", _bits), *(2 * [("shift", _shift)]), *_COMMON, ("abs", _absolute),
    ("complement", _complement), ("popcount", _counted),
)  # fmt: skip
_FLOAT: tuple[_Row, ...] = (*_ARITHMETIC, ("division", _quotient), ("rounding", _rounded), *_COMMON, ("abs", _absolute))
_BOOL: tuple[_Row, ...] = (
    ("comparison", _comparison), ("and", _binary(make.logical_and)), ("or", _binary(make.logical_or)), ("not", _negation),
    ("choice", _choice),
)  # fmt: skip
OPERATORS = tuple(dict.fromkeys(name for name, _ in (*_INT, *_FLOAT, *_BOOL)))
"""Names of operations."""


# --- As strategies --------------------------------------------------------------------------------------------


def variables(*names: str, dtype: str = "int32") -> tuple[tir.Var, ...]:
    """Return variables for expressions."""
    return tuple([tir.Var(dtype, name) for name in names])


def leaves_of(scope: tuple[tir.Var, ...]) -> Leaves:
    """Choose a constant or a variable. Variables of other dtypes are cast."""

    def leaf(choose: Choices, dtype: str) -> tir.PrimExpr:
        own = [variable for variable in scope if variable.dtype == dtype]
        if choose.rarely(3):
            return constants(choose, dtype)
        if own:
            return choose.pick(own)
        others = [variable for variable in scope if not is_vector(variable.dtype)]
        return make.cast(choose.pick(others), dtype) if others else constants(choose, dtype)

    return leaf


@st.composite
def expressions(
    draw: st.DrawFn, scope: tuple[tir.Var, ...] = variables("x", "y"), dtype: str = "int32", max_size: int = 12
) -> tir.PrimExpr:
    """Generate expressions of `dtype` over the variables of `scope`, with up to about `max_size` operations."""
    choose = Choices(draw)
    return expression(choose, dtype, leaves_of(scope), choose.number(0, max_size))
