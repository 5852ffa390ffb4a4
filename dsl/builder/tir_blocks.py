"""Blocks: `T.block`, its axes, its regions and its other declarations."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from ...ir import make, tir
from ...ir.access import detect_regions
from ...ir.base import Attrs, Trivia
from ...ir.dtype import parse_dtype
from ...ir.signature import describe, wrong_kind
from ...ir.visit import walk
from .. import syntax
from .context import Context
from .convert import (
    Attributes,
    Condition,
    DTypeName,
    Exprs,
    Flag,
    Mismatch,
    PrimExpr,
    Text,
    converter,
    is_dict,
    is_tuple,
)
from .forms import FormUse, form
from .tir_frames import BlockFrame, InitFrame
from .tir_loops import Domain

Region = tir.BufferRegion
_AXES = {"S": tir.IterVarType.DATA_PAR, "R": tir.IterVarType.COMM_REDUCE}
_TRUE = tir.IntImm("bool", 1)


@converter("Region")
def region_of(value: Any, span: Any) -> tir.BufferRegion:
    """Return an access as a region: an element has extent 1, a ramp the extent that it covers."""
    if isinstance(value, tir.BufferRegion):
        return value
    if not isinstance(value, tir.BufferLoad):
        help = f"write {_whole(value)} for all of it" if isinstance(value, tir.Buffer) else None
        raise Mismatch("a region of a buffer, such as A[i, 0:16]", help)
    ranges = [
        tir.Range(index.base, index.lanes)
        if isinstance(index, tir.Ramp)
        else tir.Range(index, make.const(1, index.dtype))
        for index in value.indices
    ]
    return tir.BufferRegion(value.buffer, tuple(ranges), span=value.span)


def block_of(site: FormUse) -> BlockFrame:
    """Return the innermost block; raise E0201 if there is none."""
    function = site.function
    if not function.blocks:
        help = "open one with 'with T.block(\"name\"):'"
        raise site.error("E0201", f"{site.name} belongs in a block", help)
    return function.blocks[-1]


@form("T.block", "T.sblock")
def block(site: FormUse, name: Text = "", no_realize: Flag = False) -> BlockFrame:
    """`with T.block("name"):`, a part of the computation that is scheduled as a whole."""
    return BlockFrame(name, not no_realize)


@form("T.init")
def init(site: FormUse) -> InitFrame:
    """`with T.init():`, what the block does before its first reduction step."""
    if block_of(site).init is not None:
        raise site.error("E0209", "the block already has an init")
    return InitFrame()


@form("T.where")
def where(site: FormUse, predicate: Condition) -> None:
    """`T.where(predicate)`: the block runs only if the predicate holds."""
    frame = block_of(site)
    if frame.predicate is not None:
        raise site.error("E0209", "the block already has a predicate", "join both with 'and'")
    place = site.argument("predicate", 0)
    for axis in frame.iter_vars:
        if any(node is axis.var for node in walk(predicate)):
            message = f"the predicate is computed before the block, where axis '{axis.var.name}' has no value"
            raise site.error("E0401", message, "use the loop variables that the axis is bound to", place)
    frame.predicate = predicate


@form("T.reads")
def reads(site: FormUse, *buffer_slices: Any) -> None:
    """`T.reads(A[i], B[0:16])`: all that the block reads."""
    frame = block_of(site)
    if frame.reads is not None:
        raise site.error("E0209", "the block already has T.reads", "join both into one T.reads")
    frame.reads = _regions(site, buffer_slices)


@form("T.writes")
def writes(site: FormUse, *buffer_slices: Any) -> None:
    """`T.writes(C[i])`: all that the block writes."""
    frame = block_of(site)
    if frame.writes is not None:
        raise site.error("E0209", "the block already has T.writes", "join both into one T.writes")
    frame.writes = _regions(site, buffer_slices)


def _whole(buffer: tir.Buffer) -> str:
    return f"{buffer.name}[{', '.join(f'0:{_extent(axis)}' for axis in buffer.shape)}]"


def _extent(axis: tir.PrimExpr) -> str:
    return str(axis.value) if isinstance(axis, tir.IntImm) else axis.name if isinstance(axis, tir.Var) else "…"


def _regions(site: FormUse, slices: tuple[Any, ...]) -> tuple[tir.BufferRegion, ...]:
    if len(slices) == 1 and is_tuple(slices[0]):
        slices = slices[0]
    result: list[tir.BufferRegion] = []
    for index, value in enumerate(slices):
        try:
            result.append(region_of(value, None))
        except Mismatch as mismatch:
            message = wrong_kind(site.name, index + 1, "", mismatch.expected, describe(value))
            raise site.error("E0202", message, mismatch.help, site.argument("", index)) from None
    return tuple(result)


@form("T.block_attr", "T.sblock_attr")
def block_attr(site: FormUse, attrs: Attributes) -> None:
    """`T.block_attr({"key": value})`: attributes of the block; several calls are merged."""
    frame = block_of(site)
    frame.annotations = _merged(site, frame.annotations, attrs)


def _merged(site: FormUse, old: Attrs, new: Attrs) -> Attrs:
    merged = dict(old)
    for key, value in new.items():
        before = merged.get(key)
        if is_dict(before) and is_dict(value):
            merged[key] = _merged(site, before, value)
        elif key in merged and before != value:
            raise site.error("E0209", f"the block already has another value for attribute '{key}'")
        else:
            merged[key] = value
    return merged


# --- Axes -----------------------------------------------------------------------------------------------------


def _axis(site: FormUse, kind: tir.IterVarType, dom: tir.Range, binding: tir.PrimExpr, dtype: str) -> tir.Var:
    if isinstance(binding, tir.IntImm) and dom.extent in site.function.loops:
        help = f"write {site.name}({binding.value}, {_extent(dom.extent)})"
        raise site.error("E0203", "the domain of an axis must precede its binding", help)
    bits = max(parse_dtype(item).bits for item in (dom.min.dtype, dom.extent.dtype, dtype))
    [name] = site.names(1, f"{site.name} makes 1 axis")
    return _add_axis(site, kind, dom, binding, f"{parse_dtype(dtype).code}{bits}", name)


def _add_axis(
    site: FormUse, kind: tir.IterVarType, dom: tir.Range, binding: tir.PrimExpr, dtype: str, name: str
) -> tir.Var:
    frame = block_of(site)
    var = tir.Var(dtype, name, span=site.span)
    frame.iter_vars.append(tir.IterVar(dom, var, kind, span=site.span))
    frame.iter_values.append(binding)
    return var


@form("T.axis.spatial", "T.axis.S")
def spatial(site: FormUse, dom: Domain, binding: PrimExpr, dtype: DTypeName = "int32") -> tir.Var:
    """An axis whose iterations are independent."""
    return _axis(site, tir.IterVarType.DATA_PAR, dom, binding, dtype)


@form("T.axis.reduce", "T.axis.R")
def reduce(site: FormUse, dom: Domain, binding: PrimExpr, dtype: DTypeName = "int32") -> tir.Var:
    """An axis over which a result is accumulated."""
    return _axis(site, tir.IterVarType.COMM_REDUCE, dom, binding, dtype)


@form("T.axis.scan")
def scan(site: FormUse, dom: Domain, binding: PrimExpr, dtype: DTypeName = "int32") -> tir.Var:
    """An axis whose iterations run in order."""
    return _axis(site, tir.IterVarType.ORDERED, dom, binding, dtype)


@form("T.axis.opaque")
def opaque(site: FormUse, dom: Domain, binding: PrimExpr, dtype: DTypeName = "int32") -> tir.Var:
    """An axis without known properties."""
    return _axis(site, tir.IterVarType.OPAQUE, dom, binding, dtype)


@form("T.axis.remap")
def remap(site: FormUse, kinds: Text, bindings: Exprs, dtype: DTypeName = "int32") -> tir.Var | tuple[tir.Var, ...]:
    """`vi, vk = T.axis.remap("SR", [i, k])`: an axis for each loop variable, spatial or reduction."""
    block_name = block_of(site).name
    where = f"block '{block_name}' remaps {len(kinds)} ax{'e' if len(kinds) != 1 else 'i'}s \"{kinds}\""
    unknown = set(kinds) - set(_AXES)
    if unknown:
        message = f"axis kind '{min(unknown)}' is neither S (spatial) nor R (reduction)"
        raise site.error("E0203", message, node=site.argument("kinds", 0))
    if len(kinds) != len(bindings):
        message = f"{where} but lists {len(bindings)} loop variable{'s' * (len(bindings) != 1)}"
        raise site.error("E0203", message, "give one kind for each loop variable", site.argument("bindings", 1))
    names = _axis_names(site, kinds, where)
    loops: dict[tir.Var, tir.Range] = site.function.loops
    made: list[tir.Var] = []
    for kind, binding, name in zip(kinds, bindings, names, strict=True):
        if not isinstance(binding, tir.Var) or binding not in loops:
            what = describe(binding)
            help = "write T.axis.spatial or T.axis.reduce with the extent and the expression"
            raise site.error("E0203", f"expected a loop variable, got {what}", help, site.argument("bindings", 1))
        made.append(_add_axis(site, _AXES[kind], loops[binding], binding, binding.dtype, name))
    return made[0] if len(made) == 1 and isinstance(site.target, syntax.Name | None) else tuple(made)


_NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def _axis_names(site: FormUse, kinds: str, where: str) -> list[str]:
    count, target = len(kinds), site.target
    elements = target.elements if isinstance(target, syntax.Tuple | syntax.List) else None
    if elements is None or len(elements) == count or any(isinstance(element, syntax.Starred) for element in elements):
        return site.names(count, where, "E0203")
    number = _NUMBERS[count] if count < len(_NUMBERS) else str(count)
    advice = "drop one of the kinds" if len(elements) < count else "add a kind for each"
    help = f"bind {number} name{'s' * (count != 1)}, or {advice}"
    message = f"{where} but binds {len(elements)} name{'s' * (len(elements) != 1)}"
    raise site.error("E0203", message, help, target)


# --- The end of a block ---------------------------------------------------------------------------------------


def close_block(context: Context, frame: BlockFrame, body: tir.Stmt, node: syntax.With, trivia: Trivia | None) -> None:
    """Add the finished block; detect the regions that it does not declare (TVM: `ScriptComplete`)."""
    function, span = context.tir, context.span(node)
    made = tir.Block(
        tuple(frame.iter_vars), frame.reads or (), frame.writes or (), frame.name, body, frame.init,
        tuple(frame.alloc_buffers), tuple(frame.match_buffers), frame.annotations, span=span,
    )  # fmt: skip
    as_written = made
    if frame.reads is None or frame.writes is None:
        made = _with_regions(context, frame, made, node)
    if not frame.realize:
        if frame.iter_values or frame.predicate is not None:
            what = "bindings" if frame.iter_values else "predicate"
            raise context.error("E0201", f"a block with no_realize=True has no {what}", node.context)
        return function.body.add(replace(made, trivia=trivia))
    predicate = _TRUE if frame.predicate is None else frame.predicate
    function.has_block = True
    realize = tir.BlockRealize(tuple(frame.iter_values), predicate, made, span=span, trivia=trivia)
    function.last_block_as_written = as_written
    return function.body.add(realize)


def _with_regions(context: Context, frame: BlockFrame, made: tir.Block, node: syntax.With) -> tir.Block:
    """Return the block with its undeclared regions detected; raise E0210 if it accesses memory through a pointer."""
    read, written, opaque_accesses = detect_regions(made, context.tir.visible_buffers())
    if opaque_accesses:
        names = ", ".join(f"'{region.buffer.name}'" for region in opaque_accesses)
        help = "declare them with T.reads(…) and T.writes(…)"
        message = f"cannot detect the regions that block '{frame.name}' accesses through pointers: {names}"
        raise context.error("E0210", message, node.context, help)
    return replace(
        made,
        reads=tuple(read) if frame.reads is None else made.reads,
        writes=tuple(written) if frame.writes is None else made.writes,
    )
