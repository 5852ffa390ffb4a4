"""The values of graph functions as machine code: tensors, and the storages that hold them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from ...ir import relax, tir
from ...ir.base import Op, Span, StructInfo
from ...ir.buffers import decl_buffer
from ...ir.numpy_dtype import numpy_dtype
from ...ir.ops import dims as d


class NeedsExecutor(Exception):
    """The reason why a function cannot become machine code, and the place of that."""

    def __init__(self, reason: str, span: Span | None = None) -> None:
        super().__init__(reason)
        self.span = span


class Storage:
    """Memory of one or more tensors: an argument of the driver, or a part of the workspace while `buffer` is
    None. `size` is in bytes; `is_written_later` tells that the program may write it more than once.
    """

    def __init__(self, size: tir.PrimExpr, buffer: tir.Buffer | None = None, is_written_later: bool = False) -> None:
        self.size, self.buffer, self.is_written_later = size, buffer, is_written_later
        self.steps: list[int] = []
        """The steps that access it."""
        self._joined: Storage | None = None

    @property
    def home(self) -> Storage:
        """Return the storage that this one was joined to; itself if there is none."""
        return self if self._joined is None else self._joined.home

    def join(self, other: Storage) -> None:
        """Make this storage the same as `other`, which is as large."""
        other.steps += self.steps
        self._joined = other


class Tensor(Struct, frozen=True, eq=False):
    """A tensor that starts at byte `offset` of its storage. Its sizes are expressions over the sizes of the arguments."""

    memory: Storage
    shape: tuple[tir.PrimExpr, ...]
    dtype: str
    offset: int = 0

    @property
    def storage(self) -> Storage:
        return self.memory.home

    @property
    def size(self) -> tir.PrimExpr:
        """Return the size in bytes."""
        return byte_count(self.shape, self.dtype)

    @property
    def is_whole(self) -> bool:
        """Return whether it fills its storage."""
        return self.offset == 0 and d.is_equal(self.storage.size, self.size)

    def overlaps(self, other: Tensor) -> bool:
        """Return whether the tensors may overlap in memory."""
        if self.storage is not other.storage:
            return False
        ends = [d.value_of(tensor.size) for tensor in (self, other)]
        if None in ends:
            return True
        end, other_end = [tensor.offset + (size or 0) for tensor, size in zip((self, other), ends, strict=True)]
        return self.offset < other_end and other.offset < end


class Loaded(Struct, frozen=True, eq=False):
    """A shape whose sizes are the elements of a tensor."""

    tensor: Tensor


Known: TypeAlias = "Tensor | Storage | Loaded | relax.ShapeExpr | tuple[Known, ...]"
"""The value of a variable."""


def byte_count(shape: Sequence[tir.PrimExpr], dtype: str) -> tir.PrimExpr:
    """Return the size of a tensor in bytes."""
    return d.multiply(d.product(shape), numpy_dtype(dtype).itemsize)


def new_tensor(
    shape: Sequence[tir.PrimExpr], dtype: str, name: str | None = None, span: Span | None = None, *, more: bool = False
) -> Tensor:
    """Return a tensor that shares no storage. If `name` is given, it is the parameter of the driver with that name; with `more`,
    the program may write it more than once.
    """
    buffer = driver_buffer(name, shape, dtype, span) if name else None
    return Tensor(Storage(byte_count(shape, dtype), buffer, more), tuple(shape), dtype)


def new_storage(call: relax.Call) -> Storage:
    """Return the memory of an `alloc_storage`: `R.memory` has a size in bytes, `R.vm` a shape and a dtype."""
    size, dtype = call.args[0], call.args[2]
    if not isinstance(size, relax.ShapeExpr) or not all(isinstance(value, tir.IntImm) for value in size.values):
        raise NeedsExecutor("the size of a storage is computed")
    shape = list(map(_wide, size.values))
    count = byte_count(shape, dtype.value) if isinstance(dtype, relax.DataTypeImm) else d.product(shape)
    return Storage(count, is_written_later=True)


def tensor_info(info: StructInfo | None) -> tuple[tuple[tir.PrimExpr, ...], str]:
    """Return the sizes and the dtype of a tensor; NeedsExecutor if they are not known."""
    match info:
        case relax.TensorStructInfo(shape=relax.ShapeExpr(values=values), dtype=dtype) if dtype != "void":
            return tuple(map(_wide, values)), dtype
        case _:
            raise NeedsExecutor("it has values other than tensors of known shapes")


def _wide(size: tir.PrimExpr) -> tir.PrimExpr:
    if isinstance(size, tir.IntImm):
        return d.dim(size.value)
    if size.dtype != "int64":
        raise NeedsExecutor(f"it has sizes of dtype {size.dtype}")
    return size


def driver_buffer(name: str, shape: Sequence[tir.PrimExpr], dtype: str, span: Span | None = None) -> tir.Buffer:
    """Return a parameter of the driver."""
    return replace(decl_buffer(shape, dtype, name), span=span)


def leaves(value: Known) -> Iterator[Tensor]:
    """Yield the tensors in a value; NeedsExecutor if it contains anything else."""
    if isinstance(value, tuple):
        for field in value:
            yield from leaves(field)
    elif isinstance(value, Tensor):
        yield value
    else:
        raise NeedsExecutor("it returns a shape or memory")


def what_needs_python(expr: relax.Expr) -> str:
    """Return what a driver cannot express in machine code."""
    match expr:
        case relax.Call(op=Op(), args=(relax.ExternFunc(global_symbol=name) | relax.StringImm(value=name), *_)):
            return _outside(name)
        case relax.Call(op=relax.ExternFunc(global_symbol=name)):
            return _outside(name)
        case relax.Call(op=Op(name=name)):
            return f"the operator 'R.{name.removeprefix('relax.')}' is computed in Python"
        case relax.Constant():
            return "the value of a constant is not in the program"
        case relax.Call() | relax.Function():
            return "it calls a function that is a value"
        case _:
            return f"it holds a {type(expr).__name__}"


def _outside(name: str) -> str:
    if name.startswith("relax.run."):
        return f"the operator 'R.{name.removeprefix('relax.run.')}' is computed in Python"
    return f"it calls the function '{name}' of Python or a library"
