"""Move rearrangements of weights out of loop functions (TVM: `SplitLayoutRewritePreproc`).

    gv = R.call_tir(cls.f, (x, w), …)        lv = R.call_tir(cls.f_weight_prepack, (w,), …)
                                             gv = R.call_tir(cls.f_prepacked, (x, lv), …)

TVM's tuner marks the blocks that rearrange a weight by the annotation `meta_schedule.layout_rewrite_preproc`. `FoldConstant` computes the
first call for constants, `LiftTransformParams` for parameters.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from .. import relax, tir
from ..base import Attrs, GlobalVar, IRModule, Node, Op
from ..deep import deep
from ..function_table import FunctionTable, numbered
from ..idioms import is_one, sequence
from ..ops import dims as d
from ..ops.inference import tensor_info
from ..visit import rewrite, walk
from .attach_attr_layout_free_buffers import LAYOUT_FREE, own_copy
from .dead_code import eliminate_dead_code
from .rewriter import ValueRewriter
from .transform import declare_pass

PREPROC = "meta_schedule.layout_rewrite_preproc"
"""Annotation of a block that only rearranges a parameter."""


@declare_pass("SplitLayoutRewritePreproc")
@deep
def split_layout_rewrite_preproc(mod: IRModule) -> IRModule:
    """Split loop functions with blocks annotated `meta_schedule.layout_rewrite_preproc` in two.

    `<name>_weight_prepack` computes the rearranged weights, `<name>_prepacked` the results from them. A function is kept if anything else
    reads such a weight, or if a statement at the root has other blocks as well.
    """
    parts = {name: found for name, function in mod.functions.items() if (found := _split(function)) is not None}
    if not parts:
        return mod
    table = FunctionTable(mod.functions)
    for name, function in mod.functions.items():
        if isinstance(function, relax.Function):
            table.functions[name] = _Splitter(function, table, parts).function(function)
    return eliminate_dead_code(replace(mod, functions=table.functions))


class _Parts(Struct, frozen=True):
    """The two parts of a function, and the rearranged buffers by the position of the parameter that they replace."""

    preproc: tir.PrimFunc
    compute: tir.PrimFunc
    rearranged: Mapping[int, tir.Buffer]


class _Splitter(ValueRewriter):
    def __init__(self, function: relax.Function, table: FunctionTable, parts: Mapping[str, _Parts]) -> None:
        super().__init__(function)
        self._table, self._parts = table, parts

    def value(self, binding: relax.Binding) -> relax.Expr:
        """Return the result of the second part, after a call of the first one."""
        match binding.value:
            case (
                relax.Call(
                    op=Op(name="relax.call_tir"), args=(GlobalVar(name_hint=name), relax.Tuple(fields=fields))
                ) as call
            ) if name in self._parts:
                parts, given = self._parts[name], list(fields)
                infos = [
                    tensor_info([d.dim(d.value_of(size) or 0) for size in buffer.shape], buffer.dtype)
                    for buffer in parts.rearranged.values()
                ]
                info = infos[0] if len(infos) == 1 else relax.TupleStructInfo(tuple(infos))
                weights = relax.Tuple(tuple([given[position] for position in parts.rearranged]))
                packed = self._call(call, parts.preproc, f"{name}_weight_prepack", weights, info)
                for number, position in enumerate(parts.rearranged):
                    given[position] = packed if len(infos) == 1 else relax.TupleGetItem(packed, number)
                return self._call(call, parts.compute, f"{name}_prepacked", relax.Tuple(tuple(given)), *call.sinfo_args)
            case value:
                return value

    def _call(
        self, call: relax.Call, function: tir.PrimFunc, name: str, args: relax.Tuple, info: relax.StructInfo
    ) -> relax.Var:
        own = GlobalVar(self._table.add(function, numbered(name)))
        return self.emit(replace(call, args=(own, args), sinfo_args=(info,), struct_info=None))


def _split(function: Node) -> _Parts | None:
    """Return the parts of a loop function, or None if it is not to be split."""
    if not isinstance(function, tir.PrimFunc) or not isinstance(function.body, tir.BlockRealize):
        return None
    root = function.body.block
    statements = root.body.seq if isinstance(root.body, tir.SeqStmt) else (root.body,)
    marks = [
        {_is_preproc(block) for block in walk(statement) if isinstance(block, tir.Block)} for statement in statements
    ]
    moved = [statement for statement, own in zip(statements, marks, strict=True) if own == {True}]
    kept = [statement for statement, own in zip(statements, marks, strict=True) if own != {True}]
    if not moved or not kept or any(True in own for own in marks if own != {True}):
        return None
    places = _places(function, root, moved, kept)
    if places is None:
        return None
    rearranged = dict(sorted(places.items(), key=lambda item: item[0]))
    sources = {position: function.buffer_map[function.params[position]] for position in rearranged}
    preproc = _function(
        function, [*sources.values(), *rearranged.values()], [_unmarked(statement) for statement in moved]
    )
    others = tuple([buffer for buffer in root.alloc_buffers if buffer not in rearranged.values()])
    body = replace(function.body, block=replace(root, body=sequence(kept), alloc_buffers=others))
    buffers = {function.params[position]: buffer for position, buffer in rearranged.items()}
    compute = replace(
        function, body=body, buffer_map={**function.buffer_map, **buffers}, attrs=_attrs(function, "_prepacked")
    )
    return _Parts(preproc, own_copy(compute), rearranged)


def _is_preproc(block: tir.Block) -> bool:
    mark = block.annotations.get(PREPROC)
    return bool(mark) if isinstance(mark, bool | int) else isinstance(mark, tir.PrimExpr) and is_one(mark)


def _places(
    function: tir.PrimFunc, root: tir.Block, moved: Sequence[tir.Stmt], kept: Sequence[tir.Stmt]
) -> dict[int, tir.Buffer] | None:
    """Return the rearranged buffer for the position of each rearranged parameter.

    Returns None if a block does not read one parameter and write one buffer of known shape in global memory, if the parameter has
    another use, or if the buffer is written again.
    """
    used = {node for statement in kept for node in walk(statement) if isinstance(node, tir.Buffer)}
    changed = {buffer for statement in kept for buffer in _written(statement)}
    params = [function.buffer_map.get(param) for param in function.params]
    places: dict[int, tir.Buffer] = {}
    for block in [node for statement in moved for node in walk(statement) if isinstance(node, tir.Block)]:
        stores = {node.buffer for node in walk(block.body) if isinstance(node, tir.BufferStore)}
        loads = {node.buffer for node in walk(block) if isinstance(node, tir.BufferLoad)} - stores
        written, read = next(iter(stores), None), next(iter(loads), None)
        if (
            len(stores) != 1
            or len(loads) != 1
            or written not in root.alloc_buffers
            or read not in params
            or read in used
        ):
            return None
        assert written is not None
        position = params.index(read)
        is_known = all(isinstance(size, tir.IntImm) for size in written.shape) and written.scope == "global"
        if not is_known or position in places or written in places.values() or written in changed:
            return None
        places[position] = written
    return places


def _written(statement: tir.Stmt) -> Iterator[tir.Buffer]:
    """Yield the buffers that a statement writes, or says that it writes."""
    for node in walk(statement):
        if isinstance(node, tir.BufferStore):
            yield node.buffer
        elif isinstance(node, tir.Block):
            yield from (region.buffer for region in node.writes)


def _unmarked(statement: tir.Stmt) -> tir.Stmt:
    """Return a statement without the annotation."""

    def unmarked(node: Node) -> Node | None:
        if not isinstance(node, tir.Block) or PREPROC not in node.annotations:
            return None
        return replace(node, annotations={name: value for name, value in node.annotations.items() if name != PREPROC})

    return rewrite(statement, unmarked)


def _function(function: tir.PrimFunc, buffers: Sequence[tir.Buffer], statements: Sequence[tir.Stmt]) -> tir.PrimFunc:
    """Return a function of these buffers and statements."""
    params = tuple([tir.Var("handle", buffer.name) for buffer in buffers])
    assert isinstance(function.body, tir.BlockRealize)
    root = replace(function.body.block, body=sequence(statements), alloc_buffers=(), reads=(), writes=())
    made = replace(
        function,
        params=params,
        body=replace(function.body, block=root),
        buffer_map=dict(zip(params, buffers, strict=True)),
        attrs=_attrs(function, "_weight_prepack"),
    )
    return own_copy(made)


def _attrs(function: tir.PrimFunc, suffix: str) -> Attrs:
    """Return the attributes of a part."""
    attrs = {name: value for name, value in function.attrs.items() if name != LAYOUT_FREE}
    symbol = attrs.get("global_symbol")
    return {**attrs, "global_symbol": f"{symbol}{suffix}"} if isinstance(symbol, str) else attrs
