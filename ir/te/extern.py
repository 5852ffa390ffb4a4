"""Tensors that a statement writes as a whole, such as a library call (TVM: `te.extern`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import tir
from ..buffers import decl_buffer
from .tensor import Operation, Tensor, dimensions


class ExternOp(Operation, frozen=True, eq=False):
    """`body` reads the buffers `given`, which hold `sources`, and writes the buffers `made`, one per output."""

    sources: tuple[Tensor, ...]
    given: tuple[tir.Buffer, ...]
    made: tuple[tir.Buffer, ...]
    body: tir.Stmt

    @property
    def inputs(self) -> tuple[Operation, ...]:
        return tuple(dict.fromkeys(source.op for source in self.sources))

    @property
    def output_count(self) -> int:
        return len(self.made)


def extern(
    shape: Sequence[Any],
    inputs: Sequence[Tensor],
    fcompute: Callable[[list[tir.Buffer], list[tir.Buffer]], Any],
    name: str = "extern",
    dtype: str | Sequence[str] | None = None,
) -> Any:
    """Return the tensor that `fcompute(inputs, outputs)` writes, a statement or a call on buffers (TVM: `te.extern`).

    `shape` is one shape or a list of shapes; a list gives a tensor and an output buffer for each. Their `dtype` defaults to
    the common dtype of the inputs. ValueError if it is unknown, TypeError if `fcompute` returns something else.
    """
    several = bool(shape) and isinstance(shape[0], tuple | list)
    shapes = [dimensions(item) for item in (shape if several else (shape,))]
    dtypes = _dtypes(dtype, inputs, len(shapes))
    given = [decl_buffer(source.dims, source.dtype, source.name) for source in inputs]
    made = [
        decl_buffer(dims, key, f"{name}_v{number}" if several else name)
        for number, (dims, key) in enumerate(zip(shapes, dtypes, strict=True))
    ]
    op = ExternOp(name, tuple(inputs), tuple(given), tuple(made), _statement(fcompute(given, made)))
    tensors = tuple(Tensor(buffer.shape, buffer.dtype, op, number) for number, buffer in enumerate(made))
    return tensors if several else tensors[0]


def _dtypes(dtype: str | Sequence[str] | None, inputs: Sequence[Tensor], count: int) -> Sequence[str]:
    if dtype is not None:
        return [dtype] * count if isinstance(dtype, str) else dtype
    known = {source.dtype for source in inputs}
    if len(known) != 1:
        raise ValueError(f"te.extern: the inputs have {len(known)} dtypes; give the dtype of the outputs")
    return [*known] * count


def _statement(value: Any) -> tir.Stmt:
    if isinstance(value, tir.Stmt):
        return value
    if isinstance(value, tir.PrimExpr):
        return tir.Evaluate(value)
    raise TypeError(f"te.extern: the function returned {value!r}, not a statement or a call")
