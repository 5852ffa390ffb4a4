"""Tensors that a statement writes as a whole, such as a library call (TVM: `te.extern`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import tir
from ..buffers import decl_buffer
from ..equal import structural_equal
from ..visit import walk
from .tensor import Operation, Tensor, dimensions


class ExternOp(Operation, frozen=True, eq=False):
    """`body` reads the buffers `given`, which hold `sources`, and writes the buffers `made`, one per output."""

    sources: tuple[Tensor, ...]
    given: tuple[tir.Buffer, ...]
    made: tuple[tir.Buffer, ...]
    body: tir.Stmt

    @property
    def input_placeholders(self) -> tuple[tir.Buffer, ...]:
        """The buffers that hold the inputs (TVM: `ExternOp.input_placeholders`)."""
        return self.given

    @property
    def output_placeholders(self) -> tuple[tir.Buffer, ...]:
        """The buffers of the outputs (TVM: `ExternOp.output_placeholders`)."""
        return self.made

    @property
    def input_tensors(self) -> tuple[Tensor, ...]:
        return self.sources

    def output(self, index: int) -> Tensor:
        """Return the tensor of an output (TVM: `Operation.output`)."""
        return Tensor(self.made[index].shape, self.made[index].dtype, self, index)

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


def extern_primfunc(input_tensors: Sequence[Tensor], primfunc: tir.PrimFunc) -> Any:
    """Return the tensors that a loop function writes, given those that it reads (TVM: `te.extern_primfunc`).

    Its buffers that are read are inputs, in the order of its parameters, also those that are written as well; if all of
    these are, the last one is an output. ValueError if a tensor does not fit its buffer.
    """
    ordered = [primfunc.buffer_map[param] for param in primfunc.params if param in primfunc.buffer_map]
    read, written = set[tir.Buffer](), set[tir.Buffer]()
    for node in walk(primfunc.body):
        if isinstance(node, tir.BufferLoad):
            read.add(node.buffer)
        elif isinstance(node, tir.BufferStore):
            written.add(node.buffer)
    sources = [buffer for buffer in ordered if buffer in read]
    results = [buffer for buffer in ordered if buffer in written and buffer not in read]
    if not results:
        results = [sources.pop(max(at for at, buffer in enumerate(sources) if buffer in written))]
    if [buffer.dtype for buffer in sources] != [tensor.dtype for tensor in input_tensors]:
        wanted = ", ".join(f"{buffer.name} ({buffer.dtype})" for buffer in sources)
        raise ValueError(
            f"te.extern_primfunc: expected tensors for the buffers {wanted}, got {len(input_tensors)} tensors"
        )
    for tensor, buffer in zip(input_tensors, sources, strict=True):
        if not structural_equal(tensor.dims, buffer.shape):
            raise ValueError(f"te.extern_primfunc: '{tensor.name}' does not have the shape of buffer '{buffer.name}'")
    op = ExternOp("extern_primfunc", tuple(input_tensors), tuple(sources), tuple(results), primfunc.body)
    tensors = tuple(Tensor(buffer.shape, buffer.dtype, op, number) for number, buffer in enumerate(results))
    return tensors[0] if len(results) == 1 else tensors


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
