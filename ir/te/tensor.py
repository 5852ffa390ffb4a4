"""Tensors as functions of their indices (TVM: `tvm.te`): placeholders, computations and reductions."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import reduce
from typing import Any, TypeAlias, cast

from msgspec import Struct

from .. import hooks, make, tir
from ..base import Node
from ..diagnostics import error
from ..operators import symbolic_equality
from ..spelling import newer_names
from ..visit import children, walk
from .expr import Value, operand, operands

Dimension: TypeAlias = tir.PrimExpr | int


class Operation(Struct, frozen=True, eq=False):
    """The definition of a tensor's elements. Not a node: walking an expression must not walk the tensors it reads."""

    name: str

    @property
    def inputs(self) -> tuple[Operation, ...]:
        """Return the operations of the tensors that are read, each once."""
        return tuple(dict.fromkeys(tensor.op for tensor in self.input_tensors))

    @property
    def input_tensors(self) -> tuple[Tensor, ...]:
        """Return the tensors that are read, each once (TVM: `Operation.input_tensors`)."""
        return ()

    @property
    def num_outputs(self) -> int:
        """The number of tensors that the operation defines (TVM: `Operation.num_outputs`)."""
        return self.output_count

    @property
    def output_count(self) -> int:
        """The number of tensors that the operation defines."""
        return 1


class PlaceholderOp(Operation, frozen=True, eq=False):
    """An input."""


class ComputeOp(Operation, frozen=True, eq=False):
    """`body[n]` is the value of output `n` at the indices `axis`; all bodies are Reduce nodes, or none."""

    axis: tuple[tir.IterVar, ...]
    body: tuple[tir.PrimExpr, ...]
    attrs: dict[str, Any] = {}
    tag: str = ""

    @property
    def input_tensors(self) -> tuple[Tensor, ...]:
        return tuple(dict.fromkeys(_read(self.body)))

    def output(self, index: int) -> Tensor:
        """Return the tensor of an output (TVM: `Operation.output`)."""
        extents = tuple(axis.dom.extent for axis in self.axis if axis.dom is not None)
        return Tensor(extents, self.body[index].dtype, self, index)

    @property
    def output_count(self) -> int:
        return len(self.body)

    @property
    def reduce_axis(self) -> tuple[tir.IterVar, ...]:
        return self.body[0].axis if isinstance(self.body[0], tir.Reduce) else ()


class Tensor(Node, frozen=True, eq=False):
    """A tensor; `t[i, j]` or `t(i, j)` is an element. `dims` is its shape as IR nodes.

    Operators are functions of `topi`: `x + y` is `topi.add(x, y)`. A number that is combined with a tensor becomes a constant of
    its dtype.
    """

    dims: tuple[tir.PrimExpr, ...]
    dtype: str
    op: Operation
    value_index: int = 0

    def __add__(self, other: Tensor | Value) -> Tensor:
        return _combine("add", self, other)

    def __radd__(self, other: Value) -> Tensor:
        return _combine("add", other, self)

    def __sub__(self, other: Tensor | Value) -> Tensor:
        return _combine("subtract", self, other)

    def __rsub__(self, other: Value) -> Tensor:
        return _combine("subtract", other, self)

    def __mul__(self, other: Tensor | Value) -> Tensor:
        return _combine("multiply", self, other)

    def __rmul__(self, other: Value) -> Tensor:
        return _combine("multiply", other, self)

    def __truediv__(self, other: Tensor | Value) -> Tensor:
        return _combine("divide", self, other)

    def __rtruediv__(self, other: Value) -> Tensor:
        return _combine("divide", other, self)

    @property
    def ndim(self) -> int:
        return len(self.dims)

    @property
    def shape(self) -> tuple[tir.PrimExpr, ...]:
        """Alias of `dims`."""
        return self.dims

    @property
    def name(self) -> str:
        """The name of its buffer (TVM: `Tensor::GetNameHint`)."""
        return f"{self.op.name}_v{self.value_index}" if self.op.output_count > 1 else self.op.name

    def __call__(self, *indices: Value) -> tir.PrimExpr:
        if len(indices) != self.ndim:
            raise TypeError(f"tensor '{self.name}' has {self.ndim} dimensions, but is indexed with {len(indices)}")
        nodes = tuple(operand(index, dim.dtype) for index, dim in zip(indices, self.dims, strict=True))
        return tir.ProducerLoad(self.dtype, self, nodes)

    def __getitem__(self, indices: Value | tuple[Value, ...]) -> Any:
        """Return an element, or with fewer indices than dimensions a slice: `t[i][j]` is `t[i, j]`."""
        return TensorSlice(self, ())[indices]

    def __eq__(self, other: object) -> bool:
        """Whether both are the same output of the same operation."""
        return isinstance(other, Tensor) and (self.op, self.value_index) == (other.op, other.value_index)

    def __hash__(self) -> int:
        return hash((self.op, self.value_index))


class TensorSlice(Struct, frozen=True):
    """A tensor with values for its first indices (TVM: `te.TensorSlice`)."""

    tensor: Tensor
    indices: tuple[Value, ...]

    def __getitem__(self, indices: Value | tuple[Value, ...]) -> Any:
        given = (*self.indices, *(indices if isinstance(indices, tuple) else (indices,)))
        return TensorSlice(self.tensor, given) if len(given) < self.tensor.ndim else self.tensor(*given)


def _combine(name: str, *operands: Any) -> Tensor:
    return hooks.call("topi", name, *operands)


def dimensions(shape: Sequence[Dimension] | Dimension) -> tuple[tir.PrimExpr, ...]:
    """Return a shape as nodes; Python ints become int32, as in TVM."""
    items = shape if isinstance(shape, tuple | list) else (cast("Dimension", shape),)
    return tuple(operand(item) for item in items)


def placeholder(shape: Sequence[Dimension], dtype: str = "float32", name: str = "placeholder") -> Tensor:
    """Return an input tensor (TVM: `te.placeholder`)."""
    return Tensor(dimensions(shape), dtype, PlaceholderOp(name))


@newer_names(dom="domain")
def reduce_axis(domain: tuple[Dimension, Dimension] | tir.Range, name: str = "rv") -> tir.IterVar:
    """Return a reduction axis over a range, or from `domain[0]` up to but not including `domain[1]` (TVM: `te.reduce_axis`)."""
    if isinstance(domain, tir.Range):
        begin, extent = domain.min, domain.extent
    else:
        low, high = domain
        end = operand(high)
        begin = operand(low, end.dtype)
        extent = make.sub(end, begin)
    var = tir.Var(extent.dtype, name)
    return tir.IterVar(tir.Range(begin, extent), var, tir.IterVarType.COMM_REDUCE)


def thread_axis(dom: Dimension | tir.Range | str | None = None, tag: str = "", name: str = "") -> tir.IterVar:
    """Return an axis of threads, such as `te.thread_axis("threadIdx.x")`, over a number or a range of them (TVM: `te.thread_axis`)."""
    if isinstance(dom, str):
        tag, dom = dom, None
    if not tag:
        raise ValueError("te.thread_axis: expected a tag, such as 'threadIdx.x'")
    if dom is not None and not isinstance(dom, tir.Range):
        extent = operand(dom)
        dom = tir.Range(make.const(0, extent.dtype), extent)
    dtype = "int32" if dom is None else dom.extent.dtype
    return tir.IterVar(dom, tir.Var(dtype, name or tag), tir.IterVarType.THREAD_INDEX, tag)


_tag = ContextVar("_tag", default="")


@contextmanager
def tag_scope(tag: str) -> Generator[None]:
    """Give the computations of a `with` block, or of a decorated function, a tag; ValueError within another one
    (TVM: `te.tag_scope`).
    """
    if _tag.get():
        raise ValueError(f"te.tag_scope('{tag}') is inside te.tag_scope('{_tag.get()}')")
    token = _tag.set(tag)
    try:
        yield
    finally:
        _tag.reset(token)


def compute(
    shape: Sequence[Dimension],
    fcompute: Callable[..., Any],
    name: str = "compute",
    tag: str = "",
    attrs: dict[str, Any] | None = None,
    varargs_names: Sequence[str] | None = None,
) -> Any:
    """Return the tensor whose element at `(i, …)` is `fcompute(i, …)` (TVM: `te.compute`).

    If `fcompute` returns a tuple, return a tensor for each of its values. The axes are named after the parameters of
    `fcompute`; those of a parameter `*i` are named `varargs_names`, or `i0`, `i1`, …. `tag` and `attrs` are kept in the operation.
    """
    extents = dimensions(shape)
    axis = tuple(
        tir.IterVar(
            tir.Range(make.const(0, extent.dtype), extent), tir.Var(extent.dtype, name), tir.IterVarType.DATA_PAR
        )
        for name, extent in zip(_axis_names(fcompute, len(extents), varargs_names), extents, strict=True)
    )
    with symbolic_equality():
        value = fcompute(*(item.var for item in axis))
    values = cast("Sequence[Value]", value) if isinstance(value, tuple | list) else (cast("Value", value),)
    body = tuple(_filled(operand(item, "float32" if isinstance(item, float) else "int32")) for item in values)
    _check_reductions(name, body)
    op = ComputeOp(name, axis, body, attrs or {}, tag or _tag.get())
    tensors = tuple(Tensor(extents, node.dtype, op, number) for number, node in enumerate(body))
    return tensors if isinstance(value, tuple | list) else tensors[0]


def _check_reductions(name: str, body: Sequence[tir.PrimExpr]) -> None:
    """Raise TvmsError E0233 unless reductions are whole values of a computation, all of them over the same axes."""
    inner = [node for value in body for part in children(value) for node in walk(part) if isinstance(node, tir.Reduce)]
    if inner:
        help = "compute the reduction as a tensor of its own, and use its elements"
        raise error("E0233", f"'{name}' uses a reduction as part of an expression", help=help)
    kinds = {value.axis if isinstance(value, tir.Reduce) else None for value in body}
    if len(kinds) > 1:
        help = "compute them separately"
        raise error("E0233", f"'{name}' computes values with different reductions together", help=help)


def _filled(value: tir.PrimExpr) -> tir.PrimExpr:
    """Return a value to store: the identity for a reduction over an empty domain, for which no loop would store it."""
    if isinstance(value, tir.Reduce):
        extents = [axis.dom.extent for axis in value.axis if axis.dom is not None]
        if any(isinstance(extent, tir.IntImm) and extent.value == 0 for extent in extents):
            return value.combiner.identity_element[value.value_index]
    return value


def _read(body: tuple[tir.PrimExpr, ...]) -> Iterator[Tensor]:
    for part in body:
        for node in walk(part):
            if isinstance(node, tir.ProducerLoad) and isinstance(node.producer, Tensor):
                yield node.producer


def _axis_names(fcompute: Callable[..., Any], ndim: int, varargs_names: Sequence[str] | None) -> list[str]:
    names: list[str] = []
    for parameter in inspect.signature(fcompute).parameters.values():
        if parameter.kind is parameter.VAR_POSITIONAL:
            names += varargs_names or [f"{parameter.name}{number}" for number in range(ndim - len(names))]
        else:
            names.append(parameter.name)
    if len(names) != ndim:
        raise TypeError(f"the function takes {len(names)} indices, but the tensor has {ndim} dimensions")
    return names


class Reducer(Struct, frozen=True):
    """A commutative reducer, applied over an axis or to two values (TVM: the result of `te.comm_reducer`)."""

    combine: Callable[[Any, Any], Any]
    identity: Callable[..., Any]

    def __call__(self, value: Any, axis: Any = None, *rest: Any, where: Value | None = None) -> Any:
        """Reduce `value` (or a tuple of values together) over `axis`, or combine it with the values `axis` and `rest`.

        The reduction over no axis is the value itself.
        """
        if not _is_axis(axis):
            return reduce(self.combine, (axis, *rest), value)
        values = cast("tuple[Value, ...]", value) if isinstance(value, tuple) else (value,)
        axes = cast("Sequence[tir.IterVar]", axis if isinstance(axis, tuple | list) else (axis,))
        sources = tuple(operand(item) for item in values)
        combiner = self._combiner([source.dtype for source in sources], isinstance(value, tuple))
        iter_vars = tuple(axes)
        condition = operand(where, "bool") if where is not None else tir.IntImm("bool", 1)
        if not axes:
            parts = zip(sources, combiner.identity_element, strict=True)
            chosen = (source if where is None else make.select(condition, source, start) for source, start in parts)
            results = tuple(chosen)
        else:
            results = tuple(
                tir.Reduce(source.dtype, combiner, sources, iter_vars, condition, number)
                for number, source in enumerate(sources)
            )
        return results if isinstance(value, tuple) else results[0]

    def _combiner(self, dtypes: list[str], several: bool) -> tir.CommReducer:
        names = ("x", "y") if len(dtypes) == 1 else (None, None)
        sides = [
            tuple(tir.Var(dtype, name or f"{side}{number}") for number, dtype in enumerate(dtypes))
            for side, name in zip(("x", "y"), names, strict=True)
        ]
        identity = cast("tuple[Value, ...]", self.identity(*dtypes)) if several else (self.identity(dtypes[0]),)
        with symbolic_equality():
            combined = self.combine(*sides) if several else (self.combine(sides[0][0], sides[1][0]),)
        result = cast("tuple[Value, ...]", combined)
        return tir.CommReducer(
            sides[0],
            sides[1],
            tuple(operand(item) for item in result),
            tuple(operand(item, dtype) for item, dtype in zip(identity, dtypes, strict=True)),
        )


def _is_axis(value: Any) -> bool:
    items = cast("Sequence[Any]", value) if isinstance(value, tuple | list) else (value,)
    return all(isinstance(item, tir.IterVar) for item in items)


def comm_reducer(fcombine: Callable[[Any, Any], Any], fidentity: Callable[..., Any], name: str = "reduce") -> Reducer:
    """Return the reducer that `fcombine(x, y)` and `fidentity(dtype)` define; both take tuples to reduce several values
    together (TVM: `te.comm_reducer`). `name` is informative.
    """
    return Reducer(fcombine, fidentity)


def _extremum(build: Callable[[tir.PrimExpr, tir.PrimExpr], tir.PrimExpr]) -> Callable[[Any, Any], tir.PrimExpr]:
    return lambda a, b: build(*operands(a, b))


def _zero(dtype: str) -> tir.PrimExpr:
    return make.const(0, dtype)


def _one(dtype: str) -> tir.PrimExpr:
    return make.const(1, dtype)


def _product(x: Any, y: Any) -> Any:
    return make.logical_and(x, y) if getattr(x, "dtype", None) == "bool" else x * y


sum = comm_reducer(lambda x, y: x + y, _zero)
prod = comm_reducer(_product, _one)
max = comm_reducer(_extremum(make.maximum), make.least)
min = comm_reducer(_extremum(make.minimum), make.greatest)
