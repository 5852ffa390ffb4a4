"""Symbolic sizes of a graph function as expressions over the sizes of its arguments, and the conditions on these."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...ir import make, tir
from ...ir.base import Span
from ...ir.ops import dims as d
from ...ir.visit import substitute, walk
from .tensors import NeedsExecutor, Tensor


class SizeTable:
    """The values of the size variables in scope."""

    def __init__(self, own: Iterable[tir.Var] = ()) -> None:
        """`own` are the sizes of the arguments."""
        self.values: dict[tir.Var, tir.PrimExpr] = {size: size for size in own}
        self.conditions: dict[object, tir.PrimExpr] = {}
        """Conditions under which the steps so far are right, by their keys."""

    def dims(self, sizes: Sequence[tir.PrimExpr]) -> tuple[tir.PrimExpr, ...]:
        """Return sizes over those of the arguments; NeedsExecutor if one is not determined by these."""
        return tuple([self._dim(size) for size in sizes])

    def _dim(self, size: tir.PrimExpr) -> tir.PrimExpr:
        if isinstance(size, tir.IntImm):
            return d.dim(size.value)
        for node in walk(size):
            if isinstance(node, tir.Var) and node not in self.values:
                raise NeedsExecutor(f"the size '{node.name}' depends on data", node.span)
            if (
                isinstance(node, tir.PrimExpr)
                and not isinstance(node, tir.IntImm)
                and node.dtype not in ("int64", "bool")
            ):
                raise NeedsExecutor(f"it has sizes of dtype {node.dtype}", node.span)
        return substitute(size, self.values)

    def agree(self, actual: tir.PrimExpr, declared: tir.PrimExpr, span: Span | None = None) -> None:
        """Note that two sizes must be equal, unless that is known."""
        if d.is_equal(actual, declared):
            return
        if d.is_different(actual, declared):
            raise NeedsExecutor("its sizes disagree", span)  # the executor reports the error
        self.conditions.setdefault((d.key_of(actual), d.key_of(declared)), make.equal(actual, declared))

    def match(self, actual: Sequence[tir.PrimExpr], declared: Sequence[tir.PrimExpr], span: Span | None) -> None:
        """Match sizes with a declaration, which defines the variables that are new in it."""
        if len(actual) != len(declared):
            raise NeedsExecutor("its sizes disagree", span)
        for size, value in zip(declared, actual, strict=True):
            if isinstance(size, tir.Var):
                self.values.setdefault(size, value)
        for size, value in zip(self.dims(declared), actual, strict=True):
            self.agree(value, size, span)

    def arguments(
        self,
        name: str,
        kernel: tir.PrimFunc,
        tensors: Sequence[Tensor],
        numbers: Sequence[tir.PrimExpr],
        span: Span | None,
    ) -> dict[tir.Var, tir.PrimExpr]:
        """Return the values of the numbers and sizes that a kernel takes; note the conditions under which it accepts the tensors."""
        found = dict(zip(kernel.params[len(tensors) :], numbers, strict=True))
        pairs: list[tuple[tir.PrimExpr, tir.PrimExpr]] = []
        for param, tensor in zip(kernel.params, tensors, strict=False):
            buffer = kernel.buffer_map[param]
            starts_at_zero = buffer.elem_offset is None or getattr(buffer.elem_offset, "value", None) == 0
            is_plain = starts_at_zero and not buffer.strides
            if not is_plain or (buffer.dtype, len(buffer.shape)) != (tensor.dtype, len(tensor.shape)):
                raise NeedsExecutor(f"'{name}' takes arguments other than arrays of these shapes", span)
            pairs += zip(buffer.shape, tensor.shape, strict=True)
        for declared, actual in pairs:
            if isinstance(declared, tir.Var):
                found.setdefault(declared, actual)
        if any(variable.dtype != "int64" for variable in found):
            raise NeedsExecutor(f"'{name}' takes sizes that are not int64", span)
        for declared, actual in pairs:
            if any(isinstance(node, tir.Var) and node not in found for node in walk(declared)):
                raise NeedsExecutor(f"'{name}' has sizes that its arguments do not determine", span)
            self.agree(actual, substitute(declared, found), span)
        return found
