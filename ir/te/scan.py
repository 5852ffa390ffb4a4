"""Recurrences along the first axis of a tensor (TVM: `te.scan`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..diagnostics import ArgumentError, Diagnostic
from .tensor import Operation, Tensor


class ScanOp(Operation, frozen=True, eq=False):
    """Output `n` begins with the rows of `init[n]`; each later row is that of `update[n]`, which reads earlier rows of the outputs
    from the placeholders `state_placeholder`.
    """

    init: tuple[Tensor, ...]
    update: tuple[Tensor, ...]
    state_placeholder: tuple[Tensor, ...]
    sources: tuple[Tensor, ...] = ()
    tag: str = ""
    attrs: dict[str, Any] = {}

    @property
    def input_tensors(self) -> tuple[Tensor, ...]:
        return (*self.init, *self.update)

    def output(self, index: int) -> Tensor:
        """Return the tensor of an output (TVM: `Operation.output`)."""
        state = self.state_placeholder[index]
        return Tensor(state.dims, state.dtype, self, index)

    @property
    def output_count(self) -> int:
        return len(self.init)


def scan(
    init: Tensor | Sequence[Tensor],
    update: Tensor | Sequence[Tensor],
    state_placeholder: Tensor | Sequence[Tensor],
    inputs: Sequence[Tensor] | None = None,
    name: str = "scan",
    tag: str = "",
    attrs: dict[str, Any] | None = None,
) -> Tensor | tuple[Tensor, ...]:
    """Return the tensors whose first rows are those of `init`, and whose other rows follow from earlier ones by `update`
    (TVM: `te.scan`). As in TVM, `te.create_prim_func` refuses them.

        state = te.placeholder((m, n))
        first = te.compute((1, n), lambda _, i: x[0, i])
        total = te.scan(first, te.compute((m, n), lambda t, i: state[t - 1, i] + x[t, i]), state)

    Raises TvmsError E0702 unless there are as many initial values, updates and placeholders, of the same rank and dtype.
    """
    given = [(value,) if isinstance(value, Tensor) else tuple(value) for value in (init, update, state_placeholder)]
    if len({len(tensors) for tensors in given}) != 1:
        counts = ", ".join(str(len(tensors)) for tensors in given)
        raise _refused(f"te.scan takes as many init, update and state_placeholder tensors, got {counts}")
    for first, later, state in zip(*given, strict=True):
        if len({(tensor.ndim, tensor.dtype) for tensor in (first, later, state)}) != 1:
            described = ", ".join(f"{tensor.dtype} of rank {tensor.ndim}" for tensor in (first, later, state))
            raise _refused(f"the init, update and state_placeholder of a te.scan differ: {described}")
    first_rows, updates, states = given
    op = ScanOp(name, first_rows, updates, states, tuple(inputs or ()), tag, attrs or {})
    tensors = tuple(map(op.output, range(op.output_count)))
    return tensors[0] if isinstance(init, Tensor) else tensors


def _refused(message: str, help: str = "give one of each for an output, of the same rank and dtype") -> ArgumentError:
    return ArgumentError(Diagnostic("E0702", message, help=help))


def check_no_scan(operations: Sequence[Operation]) -> None:
    """Raise TypeError with the text of TVM's error if one of the operations of a program is a scan."""
    for op in operations:
        if isinstance(op, ScanOp):
            message = f"Unsupported Operation: te.ScanOp. The scan '{op.name}' cannot be expressed as a block"
            raise _refused(message, "write the loop as a loop function, and call it with te.extern_primfunc")
