"""Memory safety at run time: every access is inside its buffer and inside the allocation behind it.

`T.checked_index(i, "A", 0, i, j, 16, 32)` is the index `i` of `A[i, j]`, whose dimensions are 16 and 32; if
it is outside dimension 0, the function stops with fault E0707. Mode "prove" checks only what is not proven
(`tvms.ir.analysis.proof`), mode "check" everything, mode "trust" nothing.

A view that may exceed its allocation is checked per element: `T.checked_position(j, "C", 4, 64, 8, 0, i,
16, j, 1)` is the index `j` of `C[i, j]`, whose elements have 4 bytes and are `i * 16 + j * 1 + 0` elements
after byte 8 of an allocation of 64 bytes. Pointers that are passed to functions and atomic operations are
`T.checked_pointer(p, message, size, extent, offset)`. `pointers` finds the allocation behind each pointer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from operator import is_not
from typing import Any, Literal, TypeAlias, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from ...ir import make, tir
from ...ir.base import GlobalVar, Node, Op
from ...ir.diagnostics import error
from ...ir.dtype import element_bytes, int_range, is_vector
from ...ir.visit import walk
from .facts import Effects, are_pure, memory_read_by
from .layout import strides_of
from .pointers import Pointers, bytes_of, constant, count_of, unknown
from .proofs import Proofs
from .rewriter import Rewriter, sequence
from .vectors import where_on
from .wrapping import end_of, with_limits

Bounds: TypeAlias = Literal["check", "prove", "trust"]

CHECKED_INDEX, CHECKED_POSITION = Op("tir.checked_index"), Op("tir.checked_position")
_CHECKED_POINTER, _ATOMIC_ADD = Op("tir.checked_pointer"), Op("tir.atomic_add")
_IF_THEN_ELSE, _ADDRESS_OF, _CHECK = Op("tir.if_then_else"), Op("tir.address_of"), Op("tir.check")
_TAKES_POINTERS = ("tir.handle_add_byte_offset", "tir.reinterpret", "tir.isnullptr", "tir.tvm_access_ptr")
"""The intrinsics whose operands are addresses of existing elements; others, such as prefetches, accept any
address.
"""
_ZERO = tir.IntImm("int64", 0)
_Access = TypeVar("_Access", tir.BufferLoad, tir.BufferStore)


PROVEN = "tvms.proven_indices"
"""Attribute of scheduled functions whose indices were proven to be in bounds before; only the compiler sets it."""


class Safety(Struct, frozen=True):
    """How many indices of a function were proven to be in bounds, and how many are checked at run time."""

    proven: int
    checked: int
    places: frozenset[tuple[str, int]] = frozenset()
    """The names of the checked buffers with the checked dimension; -1 is the position in the allocation."""

    def __str__(self) -> str:
        return f"{self.proven} indices proven, {self.checked} checked at run time"

    def __add__(self, other: Safety) -> Safety:
        return Safety(self.proven + other.proven, self.checked + other.checked, self.places | other.places)


def guard_indices(
    func: tir.PrimFunc, mode: Bounds, functions: Mapping[str, object] = {}
) -> tuple[tir.PrimFunc, Safety]:
    """Add bounds checks to `func`, which must not contain blocks; return it with the number of proven and checked accesses.

    `functions` are the functions that `func` may call.
    Raises TvmsError E0619 if the allocation of an access is unknown.
    """
    if mode == "trust":
        return func, Safety(0, 0)
    guard = Guard(func, mode, functions)
    body = guard.rewrite(func.body)
    return with_limits(replace(func, body=body), guard.proofs.limits), Safety(
        guard.proven, guard.checked, frozenset(guard.places)
    )


class Guard(Rewriter):
    """Inserts checks of accesses to the buffers in `only`, or to all buffers, and of pointers that are passed on."""

    def __init__(
        self, func: tir.PrimFunc, mode: Bounds, functions: Mapping[str, object], only: set[tir.Buffer] | None = None
    ) -> None:
        super().__init__(
            {
                tir.For: self._for, tir.IfThenElse: self._if, tir.Call: self._call, tir.BufferLoad: self._load,
                tir.BufferStore: self._store, tir.LetStmt: self._let, tir.AssertStmt: self._assert,
                tir.Allocate: self._allocate, tir.AllocateConst: self._allocate, tir.Let: self._let_value,
                tir.And: self._and, tir.Buffer: lambda buffer: buffer,
            }
        )  # fmt: skip
        self._functions, self._pointers, self._only = functions, Pointers(func), only
        self._is_inside_memory: dict[tir.Buffer, bool] = dict.fromkeys(func.buffer_map.values(), True)
        self.proofs = Proofs(func.buffer_map.values(), mode == "prove")
        self.proven = self.checked = 0
        self.places: set[tuple[str, int]] = set()
        self._rows: dict[tir.Buffer, tir.Buffer] = {}
        arguments = {*func.params, *(buffer.data for buffer in func.buffer_map.values())}
        self._effects = Effects(set() if func.attrs.get("tir.noalias") else arguments)

    # --- What is known where

    def _for(self, stmt: tir.For) -> tir.Stmt:
        with self.proofs.inside(stmt):
            result = self.rebuild(stmt)
        return sequence([*self._end(stmt), result]) if self._only is None else result

    def _end(self, loop: tir.For) -> Iterator[tir.Stmt]:
        """Yield the check that the end of `loop` does not overflow the dtype of its variable, unless that is proven."""
        if end_of(loop) is loop.extent:
            return
        if loop.min.dtype in ("int32", "int64") and self.proofs.is_whole(end_of(loop)):
            return
        least, most = (make.const(bound, loop.min.dtype) for bound in (0, int_range(loop.min.dtype)[1]))
        is_inside = make.logical_or(
            make.less_equal(loop.extent, least), make.less_equal(loop.min, make.sub(most, loop.extent))
        )
        said = f"the loop over '{loop.loop_var.name}' ends beyond the range of {loop.loop_var.dtype}"
        args = (is_inside, tir.StringImm("handle", "E0703"), tir.StringImm("handle", said))
        yield tir.Evaluate(tir.Call("int32", _CHECK, args, span=loop.span), span=loop.span)

    def _allocate(self, stmt: tir.Allocate | tir.AllocateConst) -> tir.Stmt:
        self._pointers.allocate(stmt)
        return self.rebuild(stmt)

    def _let_value(self, node: tir.Let) -> tir.PrimExpr:
        if node.var.dtype == "handle" and self._only is None:
            self._pointers.bind_expression(node.var, node.value)
        return self.rebuild(node)

    def _let(self, stmt: tir.LetStmt) -> tir.Stmt:
        if stmt.var.dtype == "handle" and self._only is None:
            bound = self._pointers.bind(stmt.var, stmt.value)
            value, body = self.rewrite(stmt.value), self.rewrite(stmt.body)
            for var, known in reversed(bound):
                body = tir.LetStmt(var, known, body)  # after the checks of `value`, which `known` reads without checks
            return replace(stmt, value=value, body=body)
        if is_vector(stmt.var.dtype) or stmt.var.dtype not in ("int32", "int64"):
            return self.rebuild(stmt)
        value = self.rewrite(stmt.value)
        self.proofs.name(stmt.var, stmt.value)
        body = self.where(tir.EQ("bool", stmt.var, stmt.value), stmt.body)
        return replace(stmt, value=value, body=body)

    def _assert(self, stmt: tir.AssertStmt) -> tir.Stmt:
        return replace(stmt, condition=self.rewrite(stmt.condition), body=self.where(stmt.condition, stmt.body))

    def _if(self, stmt: tir.IfThenElse) -> tir.Stmt:
        condition = self.rewrite(stmt.condition)
        then = self.where(stmt.condition, stmt.then_case)
        other = None if stmt.else_case is None else self.where(make.logical_not(stmt.condition), stmt.else_case)
        return replace(stmt, condition=condition, then_case=then, else_case=other)

    def _and(self, node: tir.And) -> tir.PrimExpr:
        """Check each operand under the assumption of those before it, unless a call between may invalidate them."""
        chain: list[tir.And] = []
        first: tir.PrimExpr = node
        while isinstance(first, tir.And):
            chain.append(first)
            first = first.a
        result, known, height = self.rewrite(first), first, self.proofs.facts.height
        for term in reversed(chain):
            self._learn_part(known, height, term.b)
            result, known = replace(term, a=result, b=self.rewrite(term.b)), term.b
        self.proofs.facts.forget(height)
        return result

    def _learn_part(self, condition: tir.PrimExpr, height: int, following: tir.PrimExpr) -> None:
        """Record that `condition` holds in `following`; drop the facts from `height` on that calls in `following` may
        invalidate.
        """
        if condition.dtype == "bool" and are_pure(walk(condition)):
            self.proofs.learn(condition)
        if not are_pure(walk(following)):
            for fact in self.proofs.facts.forget(height):
                if not memory_read_by(fact.expr):
                    self.proofs.facts.add(fact)

    def _call(self, call: tir.Call) -> tir.PrimExpr:
        if call.op == _ADDRESS_OF:
            return self._address(call)
        if call.op == _IF_THEN_ELSE:
            return self._choice(call)
        if isinstance(call.op, GlobalVar):
            return self._call_function(call, call.op.name_hint)
        if call.op == _ATOMIC_ADD and self._only is None:
            return self._atomic(call)
        if call.op.name in _TAKES_POINTERS:
            return self.rebuild(call)
        args = [arg if _is_address(arg) else self.rewrite(arg) for arg in call.args]
        return replace(call, args=tuple(args)) if any(map(is_not, args, call.args)) else call

    def _address(self, call: tir.Call) -> tir.PrimExpr:
        """Check the element whose address is taken."""
        (load,) = call.args
        if not isinstance(load, tir.BufferLoad):
            return call
        if any(is_vector(index.dtype) for index in load.indices):
            raise error("E0606", f"cannot take the address of a vector of elements of '{load.buffer.name}'", call.span)
        changed, named = self._access(load)
        result: tir.PrimExpr = call if changed is load else replace(call, args=(changed,))
        for var, index in reversed(named.items()):
            result = tir.Let(result.dtype, var, index, result)
        return result

    def _atomic(self, call: tir.Call) -> tir.PrimExpr:
        pointer, value = call.args
        assert isinstance(pointer, tir.PrimExpr)
        said = "this pointer points outside of its memory"
        checked = self._pointer(pointer, constant(element_bytes(call.dtype)), said, call)
        return replace(call, args=(checked, self.rewrite(value)))

    def _call_function(self, call: tir.Call, name: str) -> tir.PrimExpr:
        """Check that the memory behind each pointer argument is as large as the buffer of the parameter."""
        callee = None if self._only is not None else self._functions.get(name)
        if not isinstance(callee, tir.PrimFunc) or len(callee.params) != len(call.args):
            return self.rebuild(call)
        args: list[Node] = []
        for param, arg in zip(callee.params, call.args, strict=True):
            buffer = callee.buffer_map.get(param)
            if buffer is None or not isinstance(arg, tir.PrimExpr):
                if isinstance(arg, tir.PrimExpr) and arg.dtype == "handle":
                    raise unknown(call, f"the memory of parameter '{param.name}' of '{name}' is unknown")
                args.append(self.rewrite(arg))
                continue
            size = bytes_of(count_of(buffer), buffer.dtype)
            if not isinstance(size, tir.IntImm):
                return self.rebuild(call)  # this call cannot be compiled
            said = f"this pointer has less memory than '{buffer.name}' of '{name}', which is {size.value} bytes large"
            args.append(self._pointer(arg, size, said, call))
        return replace(call, args=tuple(args))

    def _pointer(self, pointer: tir.PrimExpr, size: tir.IntImm, said: str, call: tir.Call) -> tir.PrimExpr:
        """Return `pointer` with a check that at least `size` bytes of its allocation follow."""
        pointed = self._pointers.of_pointer(pointer, call)
        extent, offset = pointed.extent, pointed.offset
        if (
            isinstance(extent, tir.IntImm)
            and isinstance(offset, tir.IntImm)
            and 0 <= offset.value <= extent.value - size.value
        ):
            return self.rewrite(pointer)
        args = (self.rewrite(pointer), tir.StringImm("handle", said), size, extent, offset)
        return tir.Call("handle", _CHECKED_POINTER, args, span=call.span)

    def _choice(self, call: tir.Call) -> tir.PrimExpr:
        condition, yes, no = (arg for arg in call.args if isinstance(arg, tir.PrimExpr))
        sides = self.where(condition, yes), self.where(make.logical_not(condition), no)
        return replace(call, args=(self.rewrite(condition), *sides))

    def where(self, condition: tir.PrimExpr, part: Any) -> Any:
        """Return `part` with checks, under the assumption of `condition`."""
        is_usable = condition.dtype == "bool" and self._effects.keep(condition, part)
        height = self.proofs.facts.height
        if is_usable:
            self.proofs.learn(condition)
        result = self.rewrite(part)
        self.proofs.facts.forget(height)
        return result

    # --- Accesses

    def _load(self, load: tir.BufferLoad) -> tir.PrimExpr:
        result: tir.PrimExpr
        result, named = self._access(load)
        for var, index in reversed(named.items()):
            result = tir.Let(result.dtype, var, index, result)
        return result

    def _store(self, store: tir.BufferStore) -> tir.Stmt:
        result: tir.Stmt
        result, named = self._access(store)
        for var, index in reversed(named.items()):
            result = tir.LetStmt(var, index, result)
        return result

    def _access(self, access: _Access) -> tuple[_Access, dict[tir.Var, tir.PrimExpr]]:
        """Return `access` with checked indices, and variables to bind to those that contain checks themselves. Each
        check repeats all indices, so that without variables nested loads would double in size with each level.
        """
        changed = self.rebuild(access)
        extents = access.buffer.shape
        if self._only is not None and access.buffer not in self._only:
            return changed, {}
        if self._only is None and not self._is_known_inside(access):
            return self._access_of_view(access, changed)
        with self.proofs.in_lane(access) as places:
            is_open = [not self.proofs.is_inside(*pair) for pair in zip(places, extents, strict=False)]
        self.checked += sum(is_open)
        self.proven += len(is_open) - sum(is_open)
        if not any(is_open):
            return changed, {}
        said, named = list(changed.indices), dict[tir.Var, tir.PrimExpr]()
        for axis, (index, before) in enumerate(zip(changed.indices, access.indices, strict=True)):
            if index is not before:
                var = said[axis] = tir.Var(index.dtype, "index")
                named[var] = index
        indices = list(said)
        for axis, (index, is_checked) in enumerate(zip(said, is_open, strict=False)):
            if not is_checked:
                continue
            self.places.add((access.buffer.name, axis))
            what = tir.StringImm("handle", access.buffer.name), tir.IntImm("int32", axis)
            args = (where_on(index, changed.predicate), *what, *said, *extents)
            indices[axis] = tir.Call(index.dtype, CHECKED_INDEX, args, span=access.span)
        return replace(changed, indices=tuple(indices)), named

    def _is_known_inside(self, access: tir.BufferLoad | tir.BufferStore) -> bool:
        """Return whether an access inside its buffer is also inside its allocation; E0619 if the allocation is
        unknown.
        """
        buffer = access.buffer
        found = self._is_inside_memory.get(buffer)
        if found is None:
            pointed = self._pointers.of_buffer(buffer, access)
            found = self._is_inside_memory[buffer] = self._pointers.is_inside(buffer, pointed)
        return found

    def _access_of_view(self, access: _Access, changed: _Access) -> tuple[_Access, dict[tir.Var, tir.PrimExpr]]:
        """Return `access` with checked indices and a checked position, and variables to bind."""
        buffer = access.buffer
        if not buffer.shape:  # treat a buffer without dimensions as a row of one element
            one = tir.IntImm("int32", 1)
            row = self._rows.setdefault(buffer, replace(buffer, shape=(one,), strides=(one,) if buffer.strides else ()))
            access = replace(access, buffer=row, indices=(tir.IntImm("int32", 0),))
            changed = replace(changed, buffer=row, indices=access.indices)
            buffer = row
        pointed = self._pointers.of_buffer(buffer, access)
        with self.proofs.in_lane(access) as places:
            is_open = [not self.proofs.is_inside(*pair) for pair in zip(places, buffer.shape, strict=True)]
            is_position_open = not self.proofs.is_position_inside(buffer, places, pointed)
        if not (is_position_open or any(is_open)):
            self.proven += 1
            return changed, {}
        named = {tir.Var(index.dtype, "index"): index for index in changed.indices}
        indices: list[tir.PrimExpr] = list(named)
        for axis, (index, is_checked) in enumerate(zip(named, is_open, strict=True)):
            if is_checked:
                self.places.add((buffer.name, axis))
                what = tir.StringImm("handle", buffer.name), tir.IntImm("int32", axis)
                args = (where_on(index, changed.predicate), *what, *named, *buffer.shape)
                indices[axis] = tir.Call(index.dtype, CHECKED_INDEX, args, span=access.span)
        self.checked += 1
        if not is_position_open:
            return replace(changed, indices=tuple(indices)), named
        self.places.add((buffer.name, -1))
        parts = zip(named, strides_of(buffer), strict=True)
        terms = [part for index, step in parts for part in (where_on(index, changed.predicate), step)]
        first = _ZERO if buffer.elem_offset is None else buffer.elem_offset
        what = tir.StringImm("handle", buffer.name), constant(element_bytes(buffer.dtype))
        args = (indices[-1], *what, pointed.extent, pointed.offset, first, *terms)
        indices[-1] = tir.Call(indices[-1].dtype, CHECKED_POSITION, args, span=access.span)
        return replace(changed, indices=tuple(indices)), named


def _is_address(value: object) -> bool:
    return isinstance(value, tir.Call) and value.op == _ADDRESS_OF
