"""Compute elementwise operators in the memory of an argument (TVM: `DataflowUseInplaceCalls`).

lv = R.add(x, y)                 lv = R.add(x, y)
gv = R.nn.relu(lv)               gv = R.call_tir_inplace(relu_inplace, (lv,), inplace_indices=[0], …)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod
from typing import Any, TypeAlias

from msgspec.structs import replace

from .. import relax, tir
from ..base import BaseFunc, GlobalVar, IRModule, NamedAttrs, Node, Op, StructInfo
from ..deep import deep
from ..function_table import FunctionTable, numbered
from ..ops.dims import is_equal, is_greater
from ..ops.inference import dims_of
from ..ops.registry import find
from ..relax import Call, TensorStructInfo, Var
from ..visit import rewrite, substitute
from .aliases import Aliases, live_ranges
from .fuse_tir import distinct_regions
from .legalize_ops import lowered_call
from .rewriter import BindingRewriter
from .transform import declare_pass

ELEMENTWISE = frozenset(
    ("relax.add", "relax.subtract", "relax.multiply", "relax.divide", "relax.nn.silu", "relax.nn.relu")
)
"""Operators that read an argument of the shape of the result only at the element that they write (TVM: the same)."""
Opportunity: TypeAlias = tuple[int, tuple[int, ...]]
"""Position of a binding, and those of the arguments of its call whose memory its result can have."""


@declare_pass("DataflowUseInplaceCalls")
@deep
def dataflow_use_inplace_calls(mod: IRModule) -> IRModule:
    """Replace calls of elementwise operators in dataflow blocks by in-place calls where no other value needs the memory.

    An argument is overwritten if it has the shape and dtype of the result, and if neither it nor another variable that may hold
    its memory is used later. Parameters and constants are never overwritten.
    """
    table = FunctionTable(mod.functions)
    functions: dict[str, BaseFunc] = {}
    for name, function in mod.functions.items():
        known = len(table.functions)
        new = _InplaceCalls(table).function(function) if isinstance(function, relax.Function) else function
        functions |= dict(list(table.functions.items())[known:])
        functions[name] = new
    return replace(mod, functions=functions)


def inplace_opportunities(
    block: relax.BindingBlock, inputs: Iterable[Var]
) -> tuple[list[Opportunity], list[Opportunity]]:
    """Return the opportunities whose arguments have at least the size of the result, and those that have its shape.

    `inputs` are variables from outside of the block that may be overwritten.
    """
    ranges, aliases = live_ranges(block), Aliases(block, inputs)
    large: list[Opportunity] = []
    exact: list[Opportunity] = []
    for position, binding in enumerate(block.bindings):
        call = binding.value
        if not (isinstance(call, Call) and isinstance(call.op, Op) and call.op.name in ELEMENTWISE):
            continue
        live = [var for var, (first, last) in ranges.items() if first <= position < last]
        result = binding.var.struct_info
        free = [
            number
            for number, arg in enumerate(call.args)
            if isinstance(arg, Var) and _is_free(arg, call, live, aliases) and _has_room(arg.struct_info, result)
        ]
        same = [number for number in free if _has_shape(call.args[number].struct_info, result)]
        large += [(position, tuple(free))] if free else []
        exact += [(position, tuple(same))] if same else []
    return large, exact


def _is_free(arg: Var, call: Call, live: Sequence[Var], aliases: Aliases) -> bool:
    """Return whether no variable in `live`, and no other argument of the call, may hold memory of `arg`."""
    memory = aliases.reachable(aliases.of.get(arg, aliases.constants))
    others = [var for var in (*live, *call.args) if isinstance(var, Var) and (var in live or var is not arg)]
    held = set(aliases.constants).union(*(aliases.of.get(var, ()) for var in others))
    return memory.isdisjoint(held)


def _has_room(info: StructInfo | None, result: StructInfo | None) -> bool:
    """Return whether a tensor is proven to have the dtype and at least the number of elements of another."""
    (dtype, dims), (wanted_dtype, wanted) = _known(info), _known(result)
    if dims is None or wanted is None or dtype != wanted_dtype:
        return False
    size, needed = (prod(sizes, start=tir.IntImm("int64", 1)) for sizes in (dims, wanted))
    return is_equal(size, needed) or is_greater(size, needed)


def _has_shape(info: StructInfo | None, result: StructInfo | None) -> bool:
    """Return whether two tensors have proven equal shapes."""
    (_, dims), (_, wanted) = _known(info), _known(result)
    return dims is not None and wanted is not None and len(dims) == len(wanted) and all(map(is_equal, dims, wanted))


def _known(info: StructInfo | None) -> tuple[str, tuple[tir.PrimExpr, ...] | None]:
    """Return the dtype and the dimensions of a tensor; None for these if one of both is unknown."""
    return (info.dtype, dims_of(info)) if isinstance(info, TensorStructInfo) and info.dtype else ("", None)


class _InplaceCalls(BindingRewriter):
    """Rewrites the dataflow blocks of one function, and adds the loop functions to a table."""

    def __init__(self, table: FunctionTable) -> None:
        super().__init__()
        self._table = table

    def block(self, block: relax.BindingBlock) -> relax.BindingBlock:
        block = super().block(block)
        if not isinstance(block, relax.DataflowBlock):
            return block
        bindings = list(block.bindings)
        for position, args in inplace_opportunities(block, ())[1]:
            call = bindings[position].value
            assert isinstance(call, Call)
            new = inplace_call(call, args[-1], self._table)
            if new is not None:
                bindings[position] = replace(bindings[position], value=new)
        return replace(block, bindings=tuple(bindings))


def inplace_call(call: Call, position: int, table: FunctionTable) -> Call | None:
    """Return the call that writes its result to argument `position`, whose loop function is added to `table`.

    None if the operator cannot be lowered.
    """
    op = find(call.op.name) if isinstance(call.op, Op) else None
    lowered = lowered_call(op, call, {}) if op is not None and op.compute is not None else None
    if op is None or lowered is None or len(lowered.results) != 1:
        return None
    target = call.args[position]
    *params, output = lowered.function.params
    buffers = lowered.function.buffer_map
    place = next(number for number, arg in enumerate(lowered.args) if arg is target)
    replaced = [output, *[param for param, arg in zip(params, lowered.args, strict=True) if arg is target]]
    mapping: dict[Any, Any] = {}
    for param in replaced:  # the memory is one parameter, so that the parameters do not overlap
        if param is not params[place]:
            mapping |= {param: params[place], buffers[param]: buffers[params[place]]}
            mapping[buffers[param].data] = buffers[params[place]].data
    kept = [param for param in params if param not in mapping]
    function = replace(
        lowered.function,
        params=tuple(kept),
        buffer_map={param: buffers[param] for param in kept if param in buffers},
        body=rewrite(substitute(lowered.function.body, mapping), _with_distinct_regions),
    )
    name = table.add(function, numbered(f"{op.prim_func_name}_inplace"))
    args = tuple([arg for param, arg in zip(params, lowered.args, strict=True) if param not in mapping])
    new = replace(lowered, args=args).call(GlobalVar(name))
    return replace(new, op=Op("relax.call_tir_inplace"), attrs=NamedAttrs(inplace_indices=(place,)), span=call.span)


def _with_distinct_regions(node: Node) -> Node | None:
    if not isinstance(node, tir.Block):
        return None
    return replace(node, reads=distinct_regions(node.reads), writes=distinct_regions(node.writes))
