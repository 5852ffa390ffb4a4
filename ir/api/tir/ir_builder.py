"""Statements built call by call (TVM up to 0.21: `tvm.tir.ir_builder`).

    ib = tir.ir_builder.create()
    A = ib.pointer("float32", name="A")
    with ib.for_range(0, n, name="i") as i:
        with ib.if_scope(i < 12):
            A[i] = A[i] + 1.0
    body = ib.get()

Within a scope, `==` and `!=` build comparisons. `tvms.script.ir_builder` builds whole functions and modules.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import reduce
from typing import Any, cast

from ... import idioms, make, te, tir
from ...base import Op
from ...operators import symbolic_equality
from ...te.expr import load, store
from ..constructor import condition, plain_node
from .statements import AttrStmt, decl_buffer

_KINDS = {
    "serial": tir.ForKind.SERIAL,
    "parallel": tir.ForKind.PARALLEL,
    "vectorize": tir.ForKind.VECTORIZED,
    "unroll": tir.ForKind.UNROLLED,
}
_Part = tir.Stmt | Callable[[tir.Stmt], tir.Stmt]
"""A statement, or a function from the statements that follow in its scope to a statement around them."""


class BufferVar:
    """A buffer of a builder: `x[i]` is a load, and `x[i] = value` emits a store."""

    def __init__(self, builder: IRBuilder, buffer: tir.Buffer, content_type: str) -> None:
        self._builder = builder
        self._buffer = buffer
        self._content_type = content_type

    @property
    def dtype(self) -> str:
        """The dtype of an element."""
        return self._content_type

    def asobject(self) -> tir.Buffer:
        """Return the buffer."""
        return self._buffer

    as_node = asobject

    def __getitem__(self, index: Any) -> tir.PrimExpr:
        return load(self._buffer, _several(index), self._content_type)

    def __setitem__(self, index: Any, value: te.Value) -> None:
        node = te.operand(value, self._content_type)
        if node.dtype != self._content_type:
            raise ValueError(f"'{self._buffer.name}' holds {self._content_type}, not {node.dtype}; cast the value")
        self._builder.emit(store(self._buffer, _several(index), node))


def _several(index: Any) -> Sequence[Any]:
    return cast("Sequence[Any]", index) if isinstance(index, list | tuple) else (index,)


class IRBuilder:
    """Emits statements to the innermost open scope."""

    def __init__(self) -> None:
        self._scopes: list[list[_Part]] = [[]]
        self._loops = 0

    def emit(self, stmt: tir.Stmt | tir.PrimExpr | Callable[[tir.Stmt], tir.Stmt]) -> None:
        """Append a statement, an expression to evaluate, or a function that puts a statement around those that follow."""
        self._scopes[-1].append(tir.Evaluate(stmt) if isinstance(stmt, tir.PrimExpr) else stmt)

    def _close(self) -> tir.Stmt:
        """Close the innermost scope, and return its statements as one."""

        def before(rest: tir.Stmt | None, part: _Part) -> tir.Stmt:
            if not isinstance(part, tir.Stmt):
                return part(idioms.NOTHING if rest is None else rest)
            return part if rest is None else idioms.sequence((part, rest))

        found: tir.Stmt | None = reduce(before, reversed(self._scopes.pop()), None)
        return idioms.NOTHING if found is None else found

    @contextmanager
    def _scope(self, value: Any, close: Callable[[tir.Stmt], tir.Stmt]) -> Generator[Any]:
        self._scopes.append([])
        with symbolic_equality():
            yield value
        self.emit(close(self._close()))

    def scope_attr(self, node: Any, attr_key: str, value: te.Value | str) -> None:
        """Attach an attribute to the statements that follow; a "thread_extent" is at least 1."""
        if attr_key == "thread_extent":
            value = make.maximum(*te.operands(1, value))  # type: ignore[reportArgumentType]
        self.emit(lambda body: AttrStmt(node, attr_key, value, body))

    def for_range(
        self, begin: te.Value, end: te.Value, name: str = "i", dtype: str | None = None, kind: str = "serial"
    ) -> AbstractContextManager[tir.Var]:
        """Open a loop from `begin` to `end`, and return its variable. The default names are i, j, k, i_0, i_1, …"""
        if kind not in _KINDS:
            raise ValueError(f"expected a kind of loop among {', '.join(_KINDS)}, got '{kind}'")
        if name == "i":
            name = "ijk"[self._loops] if self._loops < 3 else f"i_{self._loops - 3}"
            self._loops += 1
        low, high = te.operands(begin, end)
        index = dtype or ("int64" if "int64" in (low.dtype, high.dtype) else "int32")
        var = tir.Var(index, name)
        extent = te.operand(high if idioms.is_zero(low) else make.sub(high, low), index)
        start = te.operand(begin, index)
        return self._scope(var, lambda body: tir.For(var, start, extent, _KINDS[kind], body))

    def while_loop(self, condition: te.Value) -> AbstractContextManager[None]:
        """Open a loop that runs while `condition` holds."""
        return self._scope(None, lambda body: tir.While(_condition(condition), body))

    def if_scope(self, cond: te.Value) -> AbstractContextManager[None]:
        """Open a branch that runs if `cond` holds."""
        return self._scope(None, lambda body: tir.IfThenElse(_condition(cond), body))

    def else_scope(self) -> AbstractContextManager[None]:
        """Open the other branch of the preceding `if_scope`. Raises RuntimeError if there is none."""
        previous = self._scopes[-1].pop() if self._scopes[-1] else None
        if not isinstance(previous, tir.IfThenElse) or previous.else_case is not None:
            raise RuntimeError("else_scope can only follow an if_scope")
        branch: tir.IfThenElse = previous
        return self._scope(None, lambda body: tir.IfThenElse(branch.condition, branch.then_case, body))

    def new_scope(self) -> AbstractContextManager[None]:
        """Open a scope that bounds attributes, bindings and allocations."""
        return self._scope(None, lambda body: body)

    def let(self, var_name: str, value: te.Value) -> tir.Var:
        """Bind `value` to a new variable in the statements that follow."""
        node = te.operand(value)
        var = tir.Var(node.dtype, var_name)
        self.emit(lambda body: tir.LetStmt(var, node, body))
        return var

    def allocate(
        self,
        dtype: str,
        shape: Any,
        name: str = "buf",
        axis_separators: Sequence[int] | None = None,
        scope: str = "",
    ) -> BufferVar:
        """Allocate memory for the statements that follow."""
        buffer = decl_buffer(_several(shape), dtype, name, scope=scope, axis_separators=axis_separators)
        always = tir.IntImm("bool", 1)
        self.emit(lambda body: tir.Allocate(buffer.data, dtype, buffer.shape, always, body))
        return BufferVar(self, buffer, dtype)

    def pointer(self, content_type: str, name: str = "ptr", scope: str = "") -> BufferVar:
        """Return a buffer over a new pointer to elements of `content_type`."""
        return BufferVar(self, decl_buffer([1], content_type, name, scope=scope), content_type)

    def buffer_ptr(self, buf: tir.Buffer) -> BufferVar:
        """Return `buf` as a buffer of this builder."""
        return BufferVar(self, buf, buf.dtype)

    def likely(self, expr: te.Value) -> tir.PrimExpr:
        """Mark a condition as likely to hold."""
        return tir.Call("bool", Op("tir.likely"), (_condition(expr),))

    def get(self) -> tir.Stmt:
        """Return the statements. Raises RuntimeError within an open scope."""
        if len(self._scopes) > 1:
            raise RuntimeError("cannot call get inside construction scope")
        return self._close()


def _condition(value: Any) -> tir.PrimExpr:
    return condition(plain_node(value) if isinstance(value, tir.IterVar) else value)


def create() -> IRBuilder:
    """Return a new builder."""
    return IRBuilder()
