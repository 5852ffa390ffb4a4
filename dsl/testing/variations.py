"""Variations of given programs: a few random changes of numbers, operators, loops, blocks, buffers and statements.

Generators compose programs from parts that someone thought of; a variation starts from a program that someone wrote for
another reason. The verifier accepts it, but it need not be free of faults at run time.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, TypeAlias

from msgspec.structs import replace

from ...ir import make, tir
from ...ir.base import IRModule, Node, Op
from ...ir.diagnostics import TvmsError
from ...ir.dtype import is_bool, is_float, is_int, is_vector
from ...ir.visit import substitute, walk
from ..load import parse
from .choices import Choices
from .known_programs import is_accepted

MOST = 3
"""Maximum number of changes of a program."""
_ATTEMPTS = 8
"""Number of changes that are tried for each that is made."""
Change: TypeAlias = Callable[[Choices, Any, "Around"], Node | None]
"""Function from a node to another one of the same kind; None if it does not apply."""


class Around:
    """What a change may use: the nodes of the function around it."""

    def __init__(self, function: tir.PrimFunc) -> None:
        self.nodes = list(dict.fromkeys(walk(function)))

    def expressions(self, dtype: str) -> list[tir.PrimExpr]:
        """Return the expressions of a dtype."""
        return [node for node in self.nodes if isinstance(node, tir.PrimExpr) and node.dtype == dtype]

    def variables(self) -> list[tir.Var]:
        """Return the variables that may be indices."""
        return [node for node in self.nodes if isinstance(node, tir.Var) and node.dtype in ("int32", "int64")]


def varied(choose: Choices, module: IRModule, kept: tuple[type[Node], ...] = (tir.CommReducer,)) -> IRModule:
    """Return a module whose loop functions have up to `MOST` changes, and that the verifier accepts.

    Nodes of the kinds `kept` do not change: reducers of threads must stay associative.
    """
    for _ in range(choose.number(0, MOST)):
        module = _changed(choose, module, kept)
    return module


def _changed(choose: Choices, module: IRModule, kept: tuple[type[Node], ...]) -> IRModule:
    names = [name for name, function in module.functions.items() if isinstance(function, tir.PrimFunc)]
    for _ in range(_ATTEMPTS if names else 0):
        name = choose.pick(names)
        function = module.functions[name]
        assert isinstance(function, tir.PrimFunc)
        around = Around(function)
        fixed = {inner for node in around.nodes if isinstance(node, kept) for inner in walk(node)}
        fitting = [
            node
            for node in around.nodes
            if not isinstance(node, tir.Var) and node not in fixed and changes_of(type(node))
        ]
        if not fitting:
            continue
        node = choose.pick(fitting)
        try:
            changed = choose.pick(changes_of(type(node)))(choose, node, around)
            if changed is None:
                continue
            after = replace(module, functions={**module.functions, name: substitute(function, {node: changed})})
            after = parse(after.script())
            if is_accepted(after):
                return after
        except TvmsError:
            continue
    return module


@cache
def changes_of(kind: type[Node]) -> tuple[Change, ...]:
    """Return the changes of a kind of node."""
    return tuple([change for base, changes in CHANGES.items() if issubclass(kind, base) for change in changes])


# --- Expressions ----------------------------------------------------------------------------------------------

_ARITHMETIC = (tir.Add, tir.Sub, tir.Mul, tir.Min, tir.Max, tir.FloorDiv, tir.FloorMod, tir.Div, tir.Mod)
_COMPARISONS = (tir.EQ, tir.NE, tir.LT, tir.LE, tir.GT, tir.GE)
_LOGICAL = (tir.And, tir.Or)
_UNARY = ("exp", "log", "sqrt", "tanh", "sigmoid", "erf", "rsqrt", "fabs", "floor", "ceil", "round", "nearbyint", "trunc",
          "sin", "cos", "tan", "atan", "sinh", "cosh", "exp2", "exp10", "log2", "log10", "log1p", "isnan")  # fmt: skip
_MIDDLES = ("int8", "uint8", "int32", "int64", "float16", "float32", "float64", "bfloat16", "bool", "uint32")
FLOATS = (0.0, -0.0, 1.0, -1.0, 0.5, -2.0, 3.0, float("inf"), float("-inf"), float("nan"), 1e-40, 1e30, 65504.0)


def _other_integer(choose: Choices, node: tir.IntImm, around: Around) -> Node | None:
    if is_bool(node.dtype):
        return tir.IntImm(node.dtype, 1 - node.value)
    own = node.value
    value = choose.pick((own + 1, own - 1, 0, 1, -own, 2 * own, own // 2, -1, 2, 127, 2**31 - 1))
    return make.const(value, node.dtype) if value != own else None


def _other_float(choose: Choices, node: tir.FloatImm, around: Around) -> Node | None:
    return tir.FloatImm(node.dtype, choose.pick(FLOATS))


def _other_operator(choose: Choices, node: tir.BinaryOp, around: Around) -> Node | None:
    family: tuple[Any, ...] = next(
        (kinds for kinds in (_ARITHMETIC, _COMPARISONS, _LOGICAL) if type(node) in kinds), ()
    )
    if not family:
        return None
    kind = choose.pick(family)
    if is_float(node.a.dtype) and kind in (tir.FloorDiv, tir.FloorMod, tir.Mod):
        return None
    if is_int(node.a.dtype) and kind is tir.Div:
        return None
    return kind(node.dtype, node.a, node.b)


def _swapped(choose: Choices, node: tir.BinaryOp, around: Around) -> Node | None:
    return replace(node, a=node.b, b=node.a)


def _other_function(choose: Choices, node: tir.Call, around: Around) -> Node | None:
    if not isinstance(node.op, Op) or node.op.name.removeprefix("tir.") not in _UNARY or len(node.args) != 1:
        return None
    return replace(node, op=Op(f"tir.{choose.pick(_UNARY)}"))


def _replaced(choose: Choices, node: tir.PrimExpr, around: Around) -> Node | None:
    """Another expression of the function with the same dtype."""
    others = [other for other in around.expressions(node.dtype) if other is not node]
    return choose.pick(others) if others else None


def _combined(choose: Choices, node: tir.PrimExpr, around: Around) -> Node | None:
    """The expression and another one of the function, under an operator."""
    others = around.expressions(node.dtype)
    if node.dtype == "handle" or not others or isinstance(node, tir.StringImm):
        return None
    other = choose.pick(others)
    if is_bool(node.dtype):
        if not choose.number(0, 2):
            return make.logical_not(node)
        return choose.pick((make.logical_and, make.logical_or))(node, other)
    operator = choose.pick((make.add, make.sub, make.mul, make.minimum, make.maximum))
    return operator(node, other)


def _selected(choose: Choices, node: tir.PrimExpr, around: Around) -> Node | None:
    conditions = around.expressions("bool")
    others = around.expressions(node.dtype)
    if not conditions or not others or is_vector(node.dtype) or node.dtype == "handle":
        return None
    condition, other = choose.pick(conditions), choose.pick(others)
    if choose.number(0, 1):
        return tir.Select(node.dtype, condition, node, other)
    return make.if_then_else(condition, node, other)


def _there_and_back(choose: Choices, node: tir.PrimExpr, around: Around) -> Node | None:
    if not (is_float(node.dtype) or is_int(node.dtype)) or is_vector(node.dtype):
        return None
    middle = choose.pick(_MIDDLES)
    return make.cast(make.cast(node, middle), node.dtype)


def _bound(choose: Choices, node: tir.PrimExpr, around: Around) -> Node | None:
    """The expression as the value of a variable, which is used once or twice."""
    if not (is_float(node.dtype) or is_int(node.dtype)):
        return None
    variable = tir.Var(node.dtype, choose.fresh("t"))
    body = make.maximum(variable, variable) if choose.number(0, 1) else variable
    return tir.Let(node.dtype, variable, node, body)


# --- Statements -----------------------------------------------------------------------------------------------


def _other_loop(choose: Choices, node: tir.For, around: Around) -> Node | None:
    match choose.number(0, 4):
        case 0:
            least = make.const(choose.pick((1, 2, -1, 3)), node.loop_var.dtype)
            return replace(node, min=make.add(node.min, least))
        case 1:
            return replace(node, extent=make.const(choose.number(0, 9), node.loop_var.dtype))
        case 2:
            kinds = (tir.ForKind.SERIAL, tir.ForKind.PARALLEL, tir.ForKind.VECTORIZED, tir.ForKind.UNROLLED)
            return None if node.thread_binding is not None else replace(node, kind=choose.pick(kinds))
        case 3:  # the same iterations, shifted
            least = make.const(choose.pick((1, 2, -1, 3)), node.loop_var.dtype)
            other = tir.Var(node.loop_var.dtype, node.loop_var.name)
            body = substitute(node.body, {node.loop_var: make.sub(other, least)})
            return replace(node, loop_var=other, min=make.add(node.min, least), body=body)
        case _:  # backwards
            other = tir.Var(node.loop_var.dtype, node.loop_var.name)
            last = make.sub(make.add(make.add(node.min, node.min), node.extent), make.const(1, node.loop_var.dtype))
            return replace(node, loop_var=other, body=substitute(node.body, {node.loop_var: make.sub(last, other)}))


def _inner_loop(choose: Choices, node: tir.Stmt, around: Around) -> Node | None:
    if isinstance(node, tir.Block):
        return None
    variable = tir.Var("int32", choose.fresh("r"))
    kind = choose.pick((tir.ForKind.SERIAL, tir.ForKind.UNROLLED))
    return tir.For(
        variable, make.const(choose.number(0, 1), "int32"), make.const(choose.number(0, 2), "int32"), kind, node
    )


def _conditional(choose: Choices, node: tir.Stmt, around: Around) -> Node | None:
    conditions = around.expressions("bool")
    if isinstance(node, tir.Block):
        return None
    if around.variables() and choose.number(0, 1):
        variable = choose.pick(around.variables())
        condition = choose.pick((make.less, make.greater, make.equal, make.not_equal))(
            variable, make.const(choose.number(0, 4), variable.dtype)
        )
    elif conditions:
        condition = choose.pick(conditions)
    else:
        return None
    return tir.IfThenElse(condition, node, node if choose.rarely(4) else None)


def _repeated(choose: Choices, node: tir.Stmt, around: Around) -> Node | None:
    return None if isinstance(node, tir.Block | tir.BlockRealize) else tir.SeqStmt((node, node))


def _reordered(choose: Choices, node: tir.SeqStmt, around: Around) -> Node | None:
    """The statements with two of them exchanged, or without one."""
    if len(node.seq) < 2:
        return None
    parts, at = list(node.seq), choose.number(0, len(node.seq) - 2)
    if choose.number(0, 1):
        parts[at], parts[at + 1] = parts[at + 1], parts[at]
    else:
        del parts[at]
    return replace(node, seq=tuple(parts)) if len(parts) > 1 else parts[0]


def _predicated(choose: Choices, node: tir.BlockRealize, around: Around) -> Node | None:
    if not around.variables():
        return None
    variable = choose.pick(around.variables())
    below = make.less(variable, make.const(choose.number(1, 6), variable.dtype))
    return replace(node, predicate=make.logical_and(node.predicate, below))


_AXES = (tir.IterVarType.DATA_PAR, tir.IterVarType.COMM_REDUCE, tir.IterVarType.ORDERED, tir.IterVarType.OPAQUE)


def _without_init(choose: Choices, node: tir.Block, around: Around) -> Node | None:
    return None if node.init is None else replace(node, init=None)


def _other_region(choose: Choices, node: tir.Block, around: Around) -> Node | None:
    """The block with a region declared twice."""
    return replace(node, reads=(*node.reads, choose.pick(node.reads))) if node.reads else None


def _other_axis(choose: Choices, node: tir.IterVar, around: Around) -> Node | None:
    return replace(node, iter_type=choose.pick(_AXES)) if node.iter_type in _AXES else None


def _stored_again(choose: Choices, node: tir.BufferStore, around: Around) -> Node | None:
    """An update of the element instead of a store."""
    if node.predicate is not None or is_vector(node.value.dtype) or is_bool(node.value.dtype):
        return None
    load = tir.BufferLoad(node.buffer.dtype, node.buffer, node.indices)
    return replace(node, value=choose.pick((make.add, make.sub, make.mul))(load, node.value))


# --- Buffers --------------------------------------------------------------------------------------------------


def _other_buffer(choose: Choices, node: tir.Buffer, around: Around) -> Node | None:
    one = node.shape[0].dtype if node.shape else "int32"
    match choose.number(0, 3):
        case 0 if node.shape:
            at = choose.number(0, len(node.shape) - 1)
            shape = list(node.shape)
            shape[at] = make.add(shape[at], make.const(choose.pick((1, 2, -1)), one))
            return replace(node, shape=tuple(shape))
        case 1 if node.shape and not node.strides:
            strides: list[tir.PrimExpr] = [make.const(choose.number(1, 2), one)]
            for size in node.shape[:0:-1]:
                strides.append(make.add(make.mul(strides[-1], size), make.const(choose.number(0, 2), one)))
            return replace(node, strides=tuple(strides[::-1]))
        case 2:
            return replace(node, elem_offset=make.const(choose.number(0, 4), one))
        case _:
            return replace(node, data_alignment=choose.pick((4, 8, 16, 128)))


CHANGES: dict[type[Node], tuple[Change, ...]] = {
    tir.IntImm: (_other_integer,),
    tir.FloatImm: (_other_float,),
    tir.BinaryOp: (_other_operator, _swapped),
    tir.Call: (_other_function,),
    tir.PrimExpr: (_replaced, _combined, _selected, _there_and_back, _bound),
    tir.For: (_other_loop, _other_loop),
    tir.Stmt: (_inner_loop, _conditional, _repeated),
    tir.SeqStmt: (_reordered,),
    tir.BlockRealize: (_predicated,),
    tir.Block: (_without_init, _other_region),
    tir.IterVar: (_other_axis,),
    tir.BufferStore: (_stored_again,),
    tir.Buffer: (_other_buffer,),
}
"""The changes of each kind of node."""
