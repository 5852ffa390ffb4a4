"""The values of graph functions with known shapes: tensors, and the storages that hold them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from ...ir import relax, tir
from ...ir.base import Span, StructInfo
from ...ir.buffers import decl_buffer
from ...ir.numpy_dtype import numpy_dtype


class NeedsExecutor(Exception):
    """The reason why a function cannot become machine code, and the place of that."""

    def __init__(self, reason: str, span: Span | None = None) -> None:
        super().__init__(reason)
        self.span = span


class Storage:
    """Memory of one or more tensors: an argument of the driver, or a part of the workspace while `buffer` is
    None.
    """

    def __init__(self, size: int, buffer: tir.Buffer | None = None) -> None:
        self.size, self.buffer = size, buffer
        self.steps: list[int] = []
        """The steps that access it, in order."""


class Tensor(Struct, frozen=True, eq=False):
    """A tensor that starts at byte `offset` of its storage."""

    storage: Storage
    shape: tuple[int, ...]
    dtype: str
    offset: int = 0

    @property
    def size(self) -> int:
        """Return the size in bytes."""
        return prod(self.shape) * numpy_dtype(self.dtype).itemsize

    def overlaps(self, other: Tensor) -> bool:
        """Return whether the tensors overlap in memory."""
        meets = self.offset < other.offset + other.size and other.offset < self.offset + self.size
        return self.storage is other.storage and meets

    def is_declared_as(self, buffer: tir.Buffer) -> bool:
        """Return whether a kernel that declares `buffer` accepts this tensor."""
        sizes = tuple(size.value for size in buffer.shape if isinstance(size, tir.IntImm))
        starts_at_zero = buffer.elem_offset is None or getattr(buffer.elem_offset, "value", None) == 0
        is_plain = starts_at_zero and not buffer.strides and len(sizes) == len(buffer.shape)
        return is_plain and (sizes, buffer.dtype) == (self.shape, self.dtype)


Known: TypeAlias = "Tensor | Storage | tuple[Known, ...]"
"""The value of a variable."""


def new_tensor(info: StructInfo | None, name: str | None = None, span: Span | None = None) -> Tensor:
    """Return a tensor that shares no storage. If `name` is given, the tensor is the parameter of the driver with that name.

    Raises NeedsExecutor if `info` does not describe a tensor with known shape and dtype.
    """
    match info:
        case relax.TensorStructInfo(shape=relax.ShapeExpr(values=values), dtype=dtype) if dtype != "void":
            shape = known_sizes(values)
        case _:
            raise NeedsExecutor("it has values other than tensors of known shapes")
    buffer = driver_buffer(name, shape, dtype, span) if name else None
    return Tensor(Storage(prod(shape) * numpy_dtype(dtype).itemsize, buffer), shape, dtype)


def new_storage(call: relax.Call) -> Storage:
    """Return the memory of an `alloc_storage`."""
    size = call.args[0]
    if not isinstance(size, relax.ShapeExpr):
        raise NeedsExecutor("the size of a storage is computed")
    return Storage(prod(known_sizes(size.values)))


def known_sizes(values: Sequence[tir.PrimExpr]) -> tuple[int, ...]:
    """Return dimensions as numbers; NeedsExecutor if one is symbolic."""
    if not all(isinstance(value, tir.IntImm) for value in values):
        raise NeedsExecutor("it has symbolic sizes")
    return tuple(value.value for value in values if isinstance(value, tir.IntImm))


def driver_buffer(name: str, shape: Sequence[int], dtype: str, span: Span | None = None) -> tir.Buffer:
    """Return a parameter of the driver."""
    return replace(decl_buffer([tir.IntImm("int64", size) for size in shape], dtype, name), span=span)


def leaves(value: Known) -> Iterator[Tensor]:
    """Yield the tensors in a value; NeedsExecutor if it contains anything else."""
    if isinstance(value, tuple):
        for field in value:
            yield from leaves(field)
    elif isinstance(value, Tensor):
        yield value
    else:
        raise NeedsExecutor("it returns memory")


def own_results(returned: Known) -> list[Tensor]:
    """Make each tensor that is computed and returned a parameter of the driver; return these tensors."""
    results: list[Tensor] = []
    for tensor in leaves(returned):
        storage = tensor.storage
        if storage.buffer is None:
            if tensor.offset or storage.size != tensor.size:
                raise NeedsExecutor("it returns a part of a storage")
            storage.buffer = driver_buffer(f"result_{len(results)}", tensor.shape, tensor.dtype)
            results.append(tensor)
    return results
