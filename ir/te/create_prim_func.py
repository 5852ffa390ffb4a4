"""Conversion of tensor expressions to a PrimFunc, one block per computation (TVM: `src/te/operation/create_primfunc.cc`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from msgspec import Struct
from msgspec.structs import replace

from .. import make, tir
from ..access import detect_regions, full_region
from ..base import Node
from ..buffers import decl_buffer
from ..idioms import is_one
from ..index_dtype import IndexDtype, with_marked_operands
from ..spelling import newer_names
from ..visit import rewrite, substitute
from .dependent_axes import with_independent_ranges
from .expr import operand
from .extern import ExternOp
from .scan import check_no_scan
from .tensor import ComputeOp, Operation, PlaceholderOp, Tensor

_TRUE = tir.IntImm("bool", 1)
_LAYOUT_FREE = "layout_free_placeholders"
"""The attribute of a computation that lists inputs whose layout may be changed."""


@newer_names(ops="args")
def create_prim_func(
    args: Sequence[Tensor | tir.Var | tir.PrimExpr], index_dtype_override: str | None = None
) -> tir.PrimFunc:
    """Return the PrimFunc of `args`: inputs, scalars, and the tensors computed from them (TVM: `te.create_prim_func`).

    It is called `main` and has the attribute `tir.noalias`; computed tensors that are not among `args` are allocated in its
    root block. All indices become `index_dtype_override`; without it, int32 unless an input has a wider dimension.
    Raises ValueError if a tensor is computed from a placeholder that is not among `args`, TypeError for a `te.scan`.
    """
    tensors = [arg for arg in args if isinstance(arg, Tensor)]
    indices = IndexDtype(index_dtype_override or _narrow(tensors), {})
    state = _State(set(tensors), {}, [], {}, indices)
    operations = computations(tensors)
    check_no_scan(operations)
    stages = [stage for op in operations for stage in _stage(op, tensors, state)]
    params: list[tir.Var] = []
    buffer_map: dict[tir.Var, tir.Buffer] = {}
    for arg in args:
        param = tir.Var("handle", f"var_{arg.name}") if isinstance(arg, Tensor) else _scalar(arg)
        params.append(param)
        if isinstance(arg, Tensor):
            buffer_map[param] = state.buffers[arg]
    root = tir.Block((), (), (), "root", _sequence(stages), alloc_buffers=tuple(state.allocated))
    body = tir.BlockRealize((), _TRUE, root)
    attrs: dict[str, object] = {"global_symbol": "main", "tir.noalias": True}
    layout_free = tuple(number for number, arg in enumerate(args) if arg in state.layout_free)
    if layout_free:
        attrs["layout_free_buffers"] = layout_free
    return tir.PrimFunc(tuple(params), body, buffer_map=buffer_map, attrs=attrs)


def _narrow(tensors: Sequence[Tensor]) -> str | None:
    """Return int32 if all dimensions of the inputs have that dtype, else None."""
    inputs = [tensor for tensor in tensors if isinstance(tensor.op, PlaceholderOp)]
    is_narrow = all(dim.dtype == "int32" for tensor in inputs for dim in tensor.dims)
    return "int32" if is_narrow and any(tensor.dims for tensor in inputs) else None


def _scalar(arg: tir.Var | tir.PrimExpr) -> tir.Var:
    var = operand(arg)
    assert isinstance(var, tir.Var)
    return var


class _State(Struct):
    """The state of the conversion."""

    arguments: set[Tensor]
    buffers: dict[Tensor, tir.Buffer]
    allocated: list[tir.Buffer]
    names: dict[str, int]
    indices: IndexDtype
    layout_free: list[object] = []
    """The placeholders whose layout may be changed because they hold parameters."""

    def fresh_name(self, name: str) -> str:
        """Return a unique block name: `name`, or `name_1`, `name_2`, …"""
        count = self.names.get(name, -1) + 1
        self.names[name] = count
        return name if count == 0 else self.fresh_name(f"{name}_{count}")


def computations(tensors: Sequence[Tensor]) -> list[Operation]:
    """Return all operations that `tensors` depend on, inputs first."""
    order: dict[Operation, None] = {}
    stack: list[tuple[Operation, bool]] = [(tensor.op, False) for tensor in reversed(tensors)]
    while stack:
        op, ready = stack.pop()
        if op in order:
            continue
        if ready:
            order[op] = None
        else:
            stack.append((op, True))
            stack.extend((source, False) for source in reversed(op.inputs))
    return list(order)


def _declare(tensor: Tensor, state: _State) -> tir.Buffer:
    buffer = decl_buffer([state.indices.index(dim) for dim in tensor.dims], tensor.dtype, tensor.name)
    state.buffers[tensor] = buffer
    return buffer


def _stage(op: Operation, tensors: Sequence[Tensor], state: _State) -> list[tir.Stmt]:
    """Return the loop nests of the blocks that compute `op`; none for an input."""
    if isinstance(op, ExternOp):
        return [_extern_block(op, state)]
    if not isinstance(op, ComputeOp):
        inputs = [tensor for tensor in tensors if tensor.op is op]
        if not inputs:
            raise ValueError(f"placeholder '{op.name}' is not among the arguments of the function")
        _declare(inputs[0], state)
        return []
    shape = tuple(axis.dom.extent for axis in op.axis if axis.dom is not None)
    state.layout_free.extend(op.attrs.get(_LAYOUT_FREE, ()))
    outputs = [Tensor(shape, body.dtype, op, number) for number, body in enumerate(op.body)]
    buffers = [_declare(tensor, state) for tensor in outputs]
    state.allocated += [b for b, t in zip(buffers, outputs, strict=True) if t not in state.arguments]
    op = with_independent_ranges(op)
    axes = tuple(replace(axis, dom=state.indices.domain(_domain(axis))) for axis in (*op.axis, *op.reduce_axis))
    loops = [tir.Var(_domain(axis).extent.dtype, axis.var.name) for axis in axes]
    if isinstance(op.body[0], tir.Reduce):
        blocks = [_block(op, op.body[0], buffers, op.name, axes, loops, state)]
    else:
        parts = zip(op.body, buffers, strict=True)
        blocks = [_block(op, body, [buffer], buffer.name, axes, loops, state) for body, buffer in parts]
    stage = _sequence(blocks)
    for axis, loop in zip(reversed(axes), reversed(loops), strict=True):
        domain = _domain(axis)
        stage = tir.For(loop, domain.min, domain.extent, tir.ForKind.SERIAL, stage)
    return [stage]


def _extern_block(op: ExternOp, state: _State) -> tir.Stmt:
    """Return the block of a statement that reads its inputs and writes its outputs as a whole."""
    outputs = [Tensor(buffer.shape, buffer.dtype, op, number) for number, buffer in enumerate(op.made)]
    made = [_declare(tensor, state) for tensor in outputs]
    state.allocated += [b for b, t in zip(made, outputs, strict=True) if t not in state.arguments]
    read = [state.buffers[source] for source in op.sources]
    replaced: dict[Node, Node] = {}
    for old, new in zip((*op.given, *op.made), (*read, *made), strict=True):
        replaced |= {old: new, old.data: new.data}
    reads, writes = (tuple(map(full_region, dict.fromkeys(buffers))) for buffers in (read, made))
    block = tir.Block((), reads, writes, state.fresh_name(op.name), substitute(op.body, replaced))
    return tir.BlockRealize((), _TRUE, block)


def _domain(axis: tir.IterVar) -> tir.Range:
    assert axis.dom is not None
    return axis.dom


def _block(
    op: ComputeOp,
    body: tir.PrimExpr,
    buffers: list[tir.Buffer],
    name: str,
    axes: Sequence[tir.IterVar],
    loops: Sequence[tir.Var],
    state: _State,
) -> tir.Stmt:
    """Return a block that stores `body`; a scalar computation gets an iterator of extent 1."""
    iter_vars = [
        replace(axis, var=tir.Var(loop.dtype, f"v_{loop.name}")) for axis, loop in zip(axes, loops, strict=True)
    ]
    renamed = {axis.var: item.var for axis, item in zip(axes, iter_vars, strict=True)}
    indices = tuple(item.var for item in iter_vars[: len(op.axis)])
    values: tuple[tir.PrimExpr, ...] = tuple(loops)
    if not iter_vars:
        one = tir.Range(make.const(0, "int32"), make.const(1, "int32"))
        iter_vars.append(tir.IterVar(one, tir.Var("int32", "vi"), tir.IterVarType.DATA_PAR))
        values = (make.const(0, state.indices.dtype or "int32"),)
    init = None
    if isinstance(body, tir.Reduce):
        identity = [_lower(value, renamed, state) for value in body.combiner.identity_element]
        init = _sequence([tir.BufferStore(b, value, indices) for b, value in zip(buffers, identity, strict=True)])
        stmt = _update(body, buffers, indices, renamed, state)
    else:
        stmt = tir.BufferStore(buffers[0], _lower(body, renamed, state), indices)
    annotations = {key: _annotation(value, state) for key, value in op.attrs.items() if key != _LAYOUT_FREE}
    computed = [tensor for tensor in op.attrs.get(_LAYOUT_FREE, ()) if tensor not in state.arguments]
    if computed:
        annotations[_LAYOUT_FREE] = _annotation(computed, state)
    block = tir.Block(tuple(iter_vars), (), (), state.fresh_name(name), stmt, init=init, annotations=annotations)
    reads, writes, _ = detect_regions(block, state.buffers.values())
    return tir.BlockRealize(values, _TRUE, replace(block, reads=reads, writes=writes))


def _annotation(value: object, state: _State) -> object:
    if isinstance(value, list | tuple):
        return tuple(_annotation(item, state) for item in cast("Sequence[object]", value))
    return state.buffers[value] if isinstance(value, Tensor) else value


def _lower(expr: tir.PrimExpr, renamed: dict[tir.Var, tir.Var], state: _State) -> tir.PrimExpr:
    """Return `expr` with the variables of its block and with loads from buffers."""

    def lower(node: object) -> tir.PrimExpr | None:
        if isinstance(node, tir.ProducerLoad) and isinstance(node.producer, Tensor):
            node = tir.BufferLoad(node.dtype, state.buffers[node.producer], node.indices)
            fitted = state.indices.fit(node)
            return node if fitted is None else fitted
        if isinstance(node, tir.Var):
            return renamed.get(node, state.indices.variables.get(node))
        return state.indices.fit(node)

    given = expr if state.indices.dtype is None else with_marked_operands(expr)
    return make.cast(rewrite(given, lower), expr.dtype)


def _update(
    reduce: tir.Reduce,
    buffers: list[tir.Buffer],
    indices: tuple[tir.Var, ...],
    renamed: dict[tir.Var, tir.Var],
    state: _State,
) -> tir.Stmt:
    """Return the update of a reduction; of several values, all are computed before any is stored."""
    combiner = reduce.combiner
    stored = [tir.BufferLoad(buffer.dtype, buffer, indices) for buffer in buffers]
    condition = None if is_one(reduce.condition) else _lower(reduce.condition, renamed, state)
    given: list[tir.PrimExpr] = []
    for source, identity in zip(reduce.source, combiner.identity_element, strict=True):
        value = _lower(source, renamed, state)
        given.append(
            value if condition is None else make.if_then_else(condition, value, _lower(identity, renamed, state))
        )
    operands = dict(zip((*combiner.lhs, *combiner.rhs), (*stored, *given), strict=True))
    combined = [substitute(_lower(result, renamed, state), operands) for result in combiner.result]
    if len(buffers) == 1:
        return tir.BufferStore(buffers[0], combined[0], indices)
    variables = [tir.Var(buffer.dtype, f"v_{buffer.name}") for buffer in buffers]
    body = _sequence([tir.BufferStore(b, var, indices) for b, var in zip(buffers, variables, strict=True)])
    for var, value in zip(reversed(variables), reversed(combined), strict=True):
        body = tir.LetStmt(var, value, body)
    return body


def _sequence(stmts: Sequence[tir.Stmt]) -> tir.Stmt:
    if not stmts:
        return tir.Evaluate(make.const(0, "int32"))
    return stmts[0] if len(stmts) == 1 else tir.SeqStmt(tuple(stmts))
