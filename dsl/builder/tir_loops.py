"""Loops: `T.serial` and the other kinds, `T.grid`, `range`; and the domains of iterators."""

from __future__ import annotations

from typing import Any

from ...ir import make, tir
from ...ir.base import Attrs, Span, Trivia
from ...ir.dtype import is_int, parse_dtype
from .. import syntax
from .convert import Attributes, DTypeName, Integer, Mismatch, PrimExpr, Text, converter, expression, is_tuple
from .forms import FormUse, form
from .tir_difference import difference
from .tir_frames import LoopFrame

Domain = tir.Range


@converter("Domain")
def domain_of(value: Any, span: Span | None) -> tir.Range:
    """Return a domain: a Range, a pair `(begin, end)`, or an extent."""
    if isinstance(value, tir.Range):
        return value
    if is_tuple(value):
        if len(value) != 2:
            raise Mismatch("an extent or a pair (begin, end)")
        begin, end = (expression(bound, span) for bound in value)
        return range_of(begin, end)
    extent = expression(value, span)
    return tir.Range(make.const(0, extent.dtype), extent)


def range_of(begin: tir.PrimExpr, end: tir.PrimExpr) -> tir.Range:
    """Return `[begin, end)` as a Range."""
    if begin.dtype != end.dtype:
        begin, end = make.match_types(begin, end)
    return tir.Range(begin, difference(end, begin))


def _loop(
    site: FormUse,
    kind: tir.ForKind,
    start: tir.PrimExpr,
    stop: tir.PrimExpr | None,
    annotations: Attrs | None,
    thread: str | None = None,
    step: int = 1,
) -> LoopFrame:
    """Return a loop. With a `step`, its variable counts iterations, and the written name is a computed index."""
    if stop is None:
        start, stop = make.const(0, start.dtype), start
    extent = difference(stop, start)
    _check_bounds(site, start, stop)
    low, high = parse_dtype(start.dtype), parse_dtype(extent.dtype)
    dtype = f"{low.code}{max(low.bits, high.bits)}"
    start, extent = _promoted(start, dtype), _promoted(extent, dtype)
    [name] = site.names(1, f"{site.name} makes 1 loop")
    var = tir.Var(dtype, name, span=_target_span(site))
    value: tir.PrimExpr = var
    if step < 1:
        raise site.error("E0202", f"expected a positive step, got {step}", node=site.argument("step", 2))
    if step > 1:
        stride = make.const(step, dtype)
        value = make.add(make.mul(var, stride), start)
        extent = make.floordiv(make.add(extent, make.const(step - 1, dtype)), stride)
        start = make.const(0, dtype)
    site.function.loops[var] = tir.Range(start, extent)
    binding = None
    if thread is not None:
        binding = tir.IterVar(None, tir.Var(dtype, "iter"), tir.IterVarType.THREAD_INDEX, thread)

    def wrap(body: tir.Stmt, span: Span, trivia: Trivia | None) -> tir.Stmt:
        return tir.For(var, start, extent, kind, body, binding, annotations or {}, span=span, trivia=trivia)

    return LoopFrame(value, wrap)


def _check_bounds(site: FormUse, *bounds: tir.PrimExpr) -> None:
    for bound in bounds:
        if not is_int(bound.dtype):
            help = 'write an integer, or convert it: T.Cast("int32", …)'
            raise site.error("E0406", f"expected integer bounds of a loop, got {bound.dtype}", help)


def _promoted(bound: tir.PrimExpr, dtype: str) -> tir.PrimExpr:
    """Return a bound of a loop; a constant gets the dtype of the loop's variable (TVM: `For`)."""
    return make.const(bound.value, dtype, bound.span) if isinstance(bound, tir.IntImm) else bound


def _target_span(site: FormUse) -> Span:
    return site.context.span(site.target or site.node)


def _in(dtype: str | None, bound: tir.PrimExpr | None) -> Any:
    """Return a bound of a loop in the dtype that its variable is given."""
    return bound if dtype is None or bound is None else make.cast(bound, dtype)


@form("T.serial")
def serial(
    site: FormUse,
    start: PrimExpr,
    stop: PrimExpr | None = None,
    step: Integer = 1,
    *,
    annotations: Attributes | None = None,
    unroll: Any = None,
    dtype: DTypeName | None = None,
) -> LoopFrame:
    """A loop whose iterations run in order. `unroll` is the annotation "pragma_unroll", `dtype` that of the variable."""
    if unroll is not None:
        annotations = {**(annotations or {}), "pragma_unroll": unroll}
    return _loop(site, tir.ForKind.SERIAL, _in(dtype, start), _in(dtype, stop), annotations, step=step)


@form("T.parallel")
def parallel(
    site: FormUse,
    start: PrimExpr,
    stop: PrimExpr | None = None,
    step: Integer = 1,
    *,
    annotations: Attributes | None = None,
) -> LoopFrame:
    """A loop whose iterations run in threads."""
    return _loop(site, tir.ForKind.PARALLEL, start, stop, annotations, step=step)


@form("T.vectorized")
def vectorized(
    site: FormUse,
    start: PrimExpr,
    stop: PrimExpr | None = None,
    step: Integer = 1,
    *,
    annotations: Attributes | None = None,
) -> LoopFrame:
    """A loop whose iterations are the lanes of vectors."""
    return _loop(site, tir.ForKind.VECTORIZED, start, stop, annotations, step=step)


@form("T.unroll")
def unroll(
    site: FormUse,
    start: PrimExpr,
    stop: PrimExpr | None = None,
    step: Integer = 1,
    *,
    annotations: Attributes | None = None,
) -> LoopFrame:
    """A loop that is unrolled."""
    return _loop(site, tir.ForKind.UNROLLED, start, stop, annotations, step=step)


@form("T.thread_binding")
def thread_binding(
    site: FormUse,
    start: PrimExpr,
    stop: Any = None,
    thread: Text | None = None,
    *,
    annotations: Attributes | None = None,
) -> LoopFrame:
    """A loop whose iterations are threads: `T.thread_binding(128, thread="threadIdx.x")`."""
    if thread is None:
        if not isinstance(stop, str):
            help = 'write T.thread_binding(extent, thread="threadIdx.x")'
            raise site.error("E0105", "T.thread_binding needs argument 3, 'thread'", help)
        stop, thread = None, stop
    end = None if stop is None else expression(stop, site.span)
    return _loop(site, tir.ForKind.THREAD_BINDING, start, end, annotations, thread)


@form("T.grid")
def grid(site: FormUse, *extents: Domain, dtype: DTypeName | None = None) -> LoopFrame:
    """A nest of serial loops from zero, or from the begin of a pair to its end: `for i, j in T.grid(128, (2, 128)):`"""
    if not extents:
        raise site.error("E0105", "T.grid needs at least one extent", "give an extent for each loop")
    written = site.argument("extents", 0)
    brackets = syntax.Tuple | syntax.List
    if len(extents) == 1 and isinstance(written, brackets) and isinstance(site.target, brackets):
        raise site.error(
            "E0204",
            "a pair is the begin and the end of one loop",
            "write the extents without brackets: T.grid(16, 16)",
            written,
        )
    names = site.names(len(extents), f"T.grid makes {len(extents)} loop{'s' * (len(extents) != 1)}")
    place = _target_span(site)
    bounds = [(_in(dtype, domain.min), _in(dtype, domain.extent)) for domain in extents]
    loops = [
        (tir.Var(extent.dtype, name, span=place), start, extent)
        for name, (start, extent) in zip(names, bounds, strict=True)
    ]
    _check_bounds(site, *[extent for _, extent in bounds])
    for var, start, extent in loops:
        site.function.loops[var] = tir.Range(start, extent)

    def wrap(body: tir.Stmt, span: Span, trivia: Trivia | None) -> tir.Stmt:
        for index, (var, start, extent) in reversed(list(enumerate(loops))):
            outer = trivia if index == 0 else None
            body = tir.For(var, start, extent, tir.ForKind.SERIAL, body, span=span, trivia=outer)
        return body

    variables = tuple([var for var, _, _ in loops])
    return LoopFrame(variables[0] if len(variables) == 1 else variables, wrap)
