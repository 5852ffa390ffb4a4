"""Python operators: on graph-level values, `x + y` is `R.add(x, y)`, `pair[0]` a field, `f(x)` a call; on loop-level
values, `i + 1` is an expression.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Generic, SupportsIndex, TypeVar, cast

from . import hooks

Value = TypeVar("Value")
"""The type of graph-level values."""
Expression = TypeVar("Expression")
"""The type of loop-level expressions."""
Store = TypeVar("Store")
"""The type of statements that store."""


class GraphOperators(Generic[Value]):
    """Base class of graph-level values. A number that is combined with a tensor becomes a constant of its dtype.

    Like `relax.op`, the operators raise TvmsError for operands that do not fit, placed at the line of the caller.
    """

    __slots__ = ()

    def __add__(self, other: object) -> Value:
        return _apply("add", self, other)

    def __radd__(self, other: object) -> Value:
        return _apply("add", other, self)

    def __sub__(self, other: object) -> Value:
        return _apply("subtract", self, other)

    def __rsub__(self, other: object) -> Value:
        return _apply("subtract", other, self)

    def __mul__(self, other: object) -> Value:
        return _apply("multiply", self, other)

    def __rmul__(self, other: object) -> Value:
        return _apply("multiply", other, self)

    def __truediv__(self, other: object) -> Value:
        return _apply("divide", self, other)

    def __rtruediv__(self, other: object) -> Value:
        return _apply("divide", other, self)

    def __floordiv__(self, other: object) -> Value:
        return _apply("floor_divide", self, other)

    def __rfloordiv__(self, other: object) -> Value:
        return _apply("floor_divide", other, self)

    def __mod__(self, other: object) -> Value:
        return _apply("floor_mod", self, other)

    def __rmod__(self, other: object) -> Value:
        return _apply("floor_mod", other, self)

    def __pow__(self, other: object) -> Value:
        return _apply("power", self, other)

    def __rpow__(self, other: object) -> Value:
        return _apply("power", other, self)

    def __matmul__(self, other: object) -> Value:
        return _apply("matmul", self, other)

    def __neg__(self) -> Value:
        return _apply("negative", self)

    def __lt__(self, other: object) -> Value:
        return _apply("less", self, other)

    def __le__(self, other: object) -> Value:
        return _apply("less_equal", self, other)

    def __gt__(self, other: object) -> Value:
        return _apply("greater", self, other)

    def __ge__(self, other: object) -> Value:
        return _apply("greater_equal", self, other)

    def astype(self, dtype: str) -> Value:
        """Return this value converted to `dtype`."""
        return _apply("astype", self, dtype)

    def __call__(self, *args: object) -> Value:
        """Return a call of this function."""
        return hooks.call("call_function", self, args)

    def __len__(self) -> int:
        """Return the number of fields of a tuple, or of dimensions of a shape."""
        return len(hooks.call("parts", self))

    def __bool__(self) -> bool:
        """Return True: the truth of a symbolic value is unknown, and `if value:` asks whether it is None."""
        return True

    def __iter__(self) -> Iterator[Any]:
        return iter(hooks.call("parts", self))

    def __getitem__(self, index: int) -> Any:
        parts = hooks.call("parts", self)
        try:
            return parts[index]
        except IndexError:
            message = f"{type(self).__name__} index out of range: {index}, but it has {len(parts)} parts"
            raise IndexError(message) from None


def _apply(name: str, *args: object) -> Any:
    return hooks.call("apply", name, *args)


_builds_comparisons = ContextVar("_builds_comparisons", default=False)


@contextmanager
def symbolic_equality(is_on: bool = True) -> Generator[None]:
    """Within this context, `==` and `!=` of expressions build the nodes EQ and NE; elsewhere, they return an `Equality`.

    The functions given to `te.compute` and `te.comm_reducer` run within it, and so do programs within `with IRBuilder()`.
    """
    token = _builds_comparisons.set(is_on)
    try:
        yield
    finally:
        _builds_comparisons.reset(token)


class Arithmetic(Generic[Expression]):
    """Base class of expressions, and of iterators, whose operators use their variables.

    `==` returns an `Equality`, which is true if both sides are the same object and becomes the node EQ as an operand; within
    `symbolic_equality`, it returns the node itself. Expressions have no truth value.
    """

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return cast("bool", _compared("equal", self, other))

    def __ne__(self, other: object) -> bool:
        return cast("bool", _compared("not_equal", self, other))

    __hash__ = object.__hash__

    def __bool__(self) -> bool:
        """Raise ValueError; a constant, and a comparison of equal operands, return their value."""
        raise ValueError(
            "an expression has no truth value; choose with te.if_then_else, combine with te.all and te.any, and test for None "
            "with 'is None'"
        )

    def __add__(self, other: Any) -> Expression:
        return _combine("add", self, other)

    def __radd__(self, other: Any) -> Expression:
        return _combine("add", other, self)

    def __sub__(self, other: Any) -> Expression:
        return _combine("sub", self, other)

    def __rsub__(self, other: Any) -> Expression:
        return _combine("sub", other, self)

    def __mul__(self, other: Any) -> Expression:
        return _combine("mul", self, other)

    def __rmul__(self, other: Any) -> Expression:
        return _combine("mul", other, self)

    def __truediv__(self, other: Any) -> Expression:
        return _combine("div", self, other)

    def __rtruediv__(self, other: Any) -> Expression:
        return _combine("div", other, self)

    def __floordiv__(self, other: Any) -> Expression:
        return _combine("floordiv", self, other)

    def __rfloordiv__(self, other: Any) -> Expression:
        return _combine("floordiv", other, self)

    def __mod__(self, other: Any) -> Expression:
        return _combine("floormod", self, other)

    def __rmod__(self, other: Any) -> Expression:
        return _combine("floormod", other, self)

    def __and__(self, other: Any) -> Expression:
        return _combine("bitwise_and", self, other)

    def __or__(self, other: Any) -> Expression:
        return _combine("bitwise_or", self, other)

    def __xor__(self, other: Any) -> Expression:
        return _combine("bitwise_xor", self, other)

    def __rand__(self, other: Any) -> Expression:
        return _combine("bitwise_and", other, self)

    def __ror__(self, other: Any) -> Expression:
        return _combine("bitwise_or", other, self)

    def __rxor__(self, other: Any) -> Expression:
        return _combine("bitwise_xor", other, self)

    def __invert__(self: Any) -> Expression:
        return hooks.call("combine", "bitwise_not", self)

    def equal(self: Any, other: Any) -> Expression:
        """Return the comparison of this value with `other` as an expression."""
        return _combine("equal", self, other)

    def __lshift__(self, other: Any) -> Expression:
        return _combine("left_shift", self, other)

    def __rlshift__(self, other: Any) -> Expression:
        return _combine("left_shift", other, self)

    def __rshift__(self, other: Any) -> Expression:
        return _combine("right_shift", self, other)

    def __rrshift__(self, other: Any) -> Expression:
        return _combine("right_shift", other, self)

    def __neg__(self: Any) -> Expression:
        return hooks.call("combine", "neg", self)

    def __lt__(self, other: Any) -> Expression:
        return _combine("less", self, other)

    def __le__(self, other: Any) -> Expression:
        return _combine("less_equal", self, other)

    def __gt__(self, other: Any) -> Expression:
        return _combine("greater", self, other)

    def __ge__(self, other: Any) -> Expression:
        return _combine("greater_equal", self, other)

    def astype(self: Any, dtype: str) -> Expression:
        """Return this value converted to `dtype`."""
        return hooks.call("cast", self, dtype)


class Indexed(Generic[Expression, Store]):
    """Base class of buffers: access to elements and regions."""

    __slots__ = ()

    def __getitem__(self: Any, indices: Any) -> Any:
        """Return the element at `indices` as an expression, or a region if there are slices among them."""
        return hooks.call("access", self, _several(indices))

    def vload(self: Any, begin: Any, dtype: str | None = None, predicate: Any = None) -> Expression:
        """Return a load of `dtype`, which may be a vector, from index `begin` on."""
        return hooks.call("load", self, _several(begin), dtype, predicate)

    def vstore(self: Any, begin: Any, value: Any, predicate: Any = None) -> Store:
        """Return the statement that stores `value`, which may be a vector, from index `begin` on."""
        return hooks.call("store", self, _several(begin), value, predicate)

    def access_ptr(
        self: Any,
        access_mask: int | str,
        ptr_type: str = "handle",
        content_lanes: int = 1,
        offset: Any = 0,
        extent: Any = None,
    ) -> Expression:
        """Return a pointer to the elements from `offset` on, for reading and writing ("rw") or one of them."""
        return hooks.call("access_ptr", self, access_mask, ptr_type, content_lanes, offset, extent)

    def offset_of(self: Any, indices: Any) -> tuple[Expression, ...]:
        """Return the position of an element in memory, one number for each axis of flat memory."""
        return hooks.call("offset_of", self, _several(indices))

    def get_flattened_buffer(self: Any) -> Any:
        """Return the buffer of the same memory with one axis, or one for each group of axes between separators."""
        return hooks.call("flattened_buffer", self)


class Mapping(Generic[Expression]):
    """Base class of index maps: application, inversion and comparison."""

    __slots__ = ()

    def map_indices(self: Any, indices: Any) -> tuple[Expression, ...]:
        """Return the position of the element at `indices`."""
        return hooks.call("index_map", "map_indices", self, _several(indices))

    def map_shape(self: Any, shape: Any) -> tuple[Expression, ...]:
        """Return the shape of the new layout of `shape`."""
        return hooks.call("index_map", "map_shape", self, _several(shape))

    def map_ndarray(self: Any, arr_src: Any) -> Any:
        """Return an array in the new layout; places without an element are 0."""
        return hooks.call("index_map", "map_ndarray", self, arr_src)

    def inverse(self: Any, shape: Any) -> Any:
        """Return the inverse map on `shape`; TvmsError if the map leaves places without an element."""
        return hooks.call("index_map", "inverse", self, _several(shape))

    def non_surjective_inverse(self: Any, shape: Any) -> tuple[Any, Expression]:
        """Return the inverse map on `shape`, and the condition for places without an element."""
        return hooks.call("index_map", "non_surjective_inverse", self, _several(shape))

    def is_equivalent_to(self: Any, other_map: Any) -> bool:
        """Return whether another map is proven to be equal, up to names."""
        return hooks.call("index_map", "is_equivalent_to", self, other_map)


def _several(indices: Any) -> tuple[Any, ...]:
    return tuple(cast("Sequence[Any]", indices)) if isinstance(indices, list | tuple) else (indices,)


def _combine(name: str, a: Any, b: Any) -> Any:
    """Return the node that `make.<name>` builds of two operands; NotImplemented if one of them is not an expression."""
    return (
        hooks.call("combine", name, a, b) if isinstance(a, _OPERANDS) and isinstance(b, _OPERANDS) else NotImplemented
    )


_OPERANDS = (Arithmetic, int, float, SupportsIndex)


class Equality(Arithmetic[Any]):
    """The result of `a == b` or `a != b` outside of `symbolic_equality` (TVM: `EqualOp`, `NotEqualOp`).

    Its truth value says whether both sides are the same object, as lists and dictionaries need it. Where an expression is
    expected, it is the node EQ or NE.
    """

    __slots__ = ("_a", "_b", "_name")

    def __init__(self, name: str, a: Any, b: Any) -> None:
        self._name, self._a, self._b = name, a, b

    def asobject(self) -> Any:
        """Return the comparison as a node."""
        return _combine(self._name, self._a, self._b)

    def __bool__(self) -> bool:
        return (self._a is self._b) == (self._name == "equal")

    def __eq__(self, other: object) -> bool:
        return bool(self) == bool(other) if isinstance(other, bool | Equality) else False

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return repr(self.asobject())


def _compared(name: str, a: Any, b: Any) -> Any:
    if isinstance(b, str) and isinstance(text := getattr(a, "value", None), str):
        return (text == b) == (name == "equal")  # a StringImm is compared with a text, as in TVM
    if _builds_comparisons.get():
        return _combine(name, a, b)
    if a is b or not isinstance(b, _OPERANDS):
        return (a is b) == (name == "equal")
    return Equality(name, a, b)
