"""Measures of loop functions: memory, arithmetic, purity (TVM: `tvm.tir.analysis`)."""

from __future__ import annotations

from collections import defaultdict
from math import prod

from ... import tir
from ...analysis.const_bounds import const_bounds
from ...base import IRModule
from ...deep import deep
from ...diagnostics import TvmsError
from ...dtype import int_range, lanes_of, parse_dtype
from ...intern import has_effects
from ...passes.transform import Pass, PassContext, module_pass
from ...programs import as_module
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
    """Return the number of arithmetic operations of a program, as TVM counts them.

    Sums, products, divisions, minima and maxima of any dtype count, but not comparisons, calls, and the arithmetic of indices.
    Of branches, the longer one counts; a loop whose extent varies counts with its largest extent. The attribute
    "estimated_flops" of a function replaces the count. Raises ValueError if the extent of a loop has no upper bound.
    """
    if isinstance(stmt_or_mod, tir.Stmt):
        return float(_operations(stmt_or_mod, {}))
    functions = as_module(stmt_or_mod).functions.values()
    return float(sum(_flops(function) for function in functions if isinstance(function, tir.PrimFunc)))


def _flops(function: tir.PrimFunc) -> int:
    estimate = function.attrs.get("estimated_flops")
    if isinstance(estimate, tir.IntImm):
        return estimate.value
    return estimate if isinstance(estimate, int) else _operations(function.body, {})


def _operations(node: object, domains: dict[tir.Var, tir.Range]) -> int:
    def of(*parts: object) -> int:
        return sum(_operations(part, domains) for part in parts)

    match node:
        case tir.For():
            domains[node.loop_var] = tir.Range(node.min, node.extent)
            extent = const_bounds(node.extent, domains).max
            if extent >= int_range(node.extent.dtype)[1]:
                message = f"the extent {node.extent} of the loop over '{node.loop_var.name}' has no upper bound"
                raise ValueError(message)
            return max(extent, 0) * of(node.body)
        case tir.BlockRealize():
            return of(node.block)
        case tir.Block():
            return of(node.init, node.body)
        case tir.BufferStore():
            return of(node.value)
        case tir.IfThenElse():
            return of(node.condition) + max(of(node.then_case), of(node.else_case))
        case tir.Select():
            return of(node.condition) + max(of(node.true_value), of(node.false_value))
        case tir.And() | tir.Or():
            return of(node.a, node.b)
        case tir.CmpOp() | tir.BufferLoad() | tir.Buffer() | tir.Evaluate():
            return 0
        case tir.BinaryOp():
            return 1 + of(node.a, node.b)
        case tir.Stmt() | tir.PrimExpr():
            return of(*children(node))
        case _:
            return 0
