"""Measures of loop functions: memory, arithmetic, purity (TVM: `tvm.tir.analysis`)."""

from __future__ import annotations

from collections import defaultdict
from math import prod

from ... import tir
from ...base import IRModule
from ...deep import deep
from ...diagnostics import TvmsError
from ...dtype import lanes_of, parse_dtype
from ...intern import has_effects
from ...passes.transform import Pass, PassContext, module_pass
from ...programs import as_module
from ...simplify import simplify
from ...verify import verify
from ...visit import children, walk


def calculate_allocated_bytes(func_or_mod: tir.PrimFunc | IRModule) -> dict[str, dict[str, int]]:
    """Return the peak of allocated memory in bytes, by function and storage scope; a single function is called "main".

    Allocations of unknown size do not count.
    """
    if isinstance(func_or_mod, tir.PrimFunc):
        return {"main": _peaks(func_or_mod)}
    functions = func_or_mod.functions.items()
    return {name: _peaks(function) for name, function in functions if isinstance(function, tir.PrimFunc)}


@deep
def _peaks(function: tir.PrimFunc) -> dict[str, int]:
    peaks, now = defaultdict[str, int](int), defaultdict[str, int](int)

    def visit(node: object) -> None:
        size = _bytes(node.dtype, node.extents) if isinstance(node, tir.Allocate | tir.AllocateConst) else 0
        if isinstance(node, tir.Allocate | tir.AllocateConst):
            scope = _scope(node.buffer_var)
            now[scope] += size
            peaks[scope] = max(peaks[scope], now[scope])
            visit(node.body)
            now[scope] -= size
        elif isinstance(node, tir.Stmt):
            for part in children(node):
                visit(part)

    visit(function.body)
    return dict(peaks)


def _scope(pointer: tir.Var) -> str:
    held = pointer.type_annotation
    return (held.storage_scope if isinstance(held, tir.PointerType) else "") or "global"


def _bytes(dtype: str, extents: tuple[tir.PrimExpr, ...]) -> int:
    known = [extent.value for extent in extents if isinstance(extent, tir.IntImm)]
    parsed = parse_dtype(dtype)
    return prod(known) * ((parsed.bits * lanes_of(dtype) + 7) // 8) if len(known) == len(extents) else 0


def is_pure_function(func: tir.PrimFunc) -> bool:
    """Return whether a function only reads its arguments, writes only its own memory, and calls nothing with side effects."""
    return _effect(func) is None


def assert_pure_function(func: tir.PrimFunc) -> bool:
    """Return True for a pure function. Raises AssertionError with the first side effect of another one."""
    found = _effect(func)
    if found is not None:
        raise AssertionError(f"the function is not pure: {found}")
    return True


def _effect(func: tir.PrimFunc) -> tir.Stmt | tir.PrimExpr | None:
    own = {node.buffer_var for node in walk(func.body) if isinstance(node, tir.Allocate | tir.AllocateConst)}
    own |= {buffer.data for node in walk(func.body) if isinstance(node, tir.Block) for buffer in node.alloc_buffers}
    for node in walk(func.body):
        if isinstance(node, tir.BufferStore) and node.buffer.data not in own:
            return node
        if isinstance(node, tir.Call) and getattr(node.op, "name", "") != "tir.ret" and has_effects(node):
            return node
    return None


def OOBChecker() -> Pass:
    """Return a pass that refuses modules with accesses outside their buffers (TVM: `tir.analysis.OOBChecker`).

    The pass raises TvmsError with E0414 or E0422. Accesses that are not proven to be outside are accepted.
    """

    def check(mod: IRModule, ctx: PassContext) -> IRModule:
        found = tuple(diagnostic for diagnostic in verify(mod) if diagnostic.code in ("E0414", "E0422"))
        if found:
            raise TvmsError(found)
        return mod

    return module_pass(check, opt_level=0, name="OOBChecker")


@deep
def estimate_tir_flops(stmt_or_mod: tir.Stmt | tir.PrimFunc | IRModule) -> float:
    """Return the number of arithmetic operations of a program. Index arithmetic does not count.

    Of the branches of a condition, the longer one counts. Raises ValueError if the length of a loop is unknown.
    """
    if isinstance(stmt_or_mod, tir.Stmt):
        return float(_operations(stmt_or_mod))
    functions = as_module(stmt_or_mod).functions.values()
    return float(sum(_operations(function.body) for function in functions if isinstance(function, tir.PrimFunc)))


def _operations(node: object) -> int:
    match node:
        case tir.For():
            extent = simplify(node.extent)
            if not isinstance(extent, tir.IntImm):
                raise ValueError(f"the length {extent} of the loop over '{node.loop_var.name}' is unknown")
            return extent.value * _operations(node.body)
        case tir.Block():
            return sum(_operations(part) for part in (node.init, node.body))
        case tir.BlockRealize():
            return _operations(node.block)
        case tir.BufferStore():
            return _operations(node.value)
        case tir.IfThenElse():
            return _operations(node.condition) + max(_operations(node.then_case), _operations(node.else_case))
        case tir.BufferLoad() | tir.Buffer() | None:
            return 0
        case tir.Call() | tir.BinaryOp() | tir.Not() | tir.Select():
            return 1 + sum(map(_operations, children(node)))
        case tir.Stmt() | tir.PrimExpr():
            return sum(map(_operations, children(node)))
        case _:
            return 0
