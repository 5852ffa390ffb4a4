"""Evaluate constant expressions at compile time (TVM: `FoldConstant`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import prod
from typing import Any

from msgspec.structs import replace

from .. import relax, tir
from ..base import GlobalVar, IRModule, Node, Op, StructInfo
from ..deep import deep
from ..diagnostics import TvmsError
from ..files import release_pages
from ..infer import infer_struct_info
from ..ops.inference import dims_of
from ..purity import is_pure_call
from ..visit import walk
from .dead_code import remove_unused_bindings
from .rewriter import BindingRewriter
from .transform import declare_pass, map_functions

Evaluate = Callable[[IRModule, str], Any]
"""Function that executes a parameterless function of a module."""

_STAY = frozenset(("relax.to_vdevice", "relax.hint_on_device", "relax.builtin.stop_lift_params", "relax.call_dps_packed",
                   "relax.call_pure_packed", "relax.call_tir_inplace"))  # fmt: skip
"""Pure calls that must not be folded, as it matters when, where or by what they are executed."""
_CREATING = frozenset(("relax.arange", "relax.eye", "relax.ones", "relax.zeros"))
"""Operators whose results are constants if they are small, although no argument is one."""
_LARGEST_CREATED = 1024
"""Maximum number of elements of such results; loops fill larger tensors."""


@declare_pass("FoldConstant")
@deep
def fold_constant(mod: IRModule, evaluate: Evaluate | None = None, operators: Sequence[str] | None = None) -> IRModule:
    """Replace calls with constant arguments by their results, and variables bound to constants by these.

    `evaluate` executes the calls; the default is the interpreter. Calls without a constant tensor argument are kept, because
    they would only enlarge the program, but for `R.zeros` and the like of up to 1024 elements. Operators are folded only in dataflow blocks, calls of loop
    functions everywhere. With `operators`, names such as "relax.add", only calls of these are folded, everywhere. Bindings that
    become unused are removed.
    """

    def fold(function: relax.Function) -> relax.Function:
        return remove_unused_bindings(_Folder(mod, evaluate or _interpret, operators).function(function), mod)

    return map_functions(mod, relax.Function, fold)


def _interpret(mod: IRModule, name: str) -> Any:
    from ..interp import run

    return run(mod, name, [])


class _Folder(BindingRewriter):
    def __init__(self, mod: IRModule, evaluate: Evaluate, operators: Sequence[str] | None) -> None:
        super().__init__()
        self._mod, self._evaluate, self._operators = mod, evaluate, operators
        self._in_dataflow = False

    def block(self, block: relax.BindingBlock) -> relax.BindingBlock:
        outer, self._in_dataflow = self._in_dataflow, isinstance(block, relax.DataflowBlock)
        try:
            return super().block(block)
        finally:
            self._in_dataflow = outer

    def binding(self, binding: relax.Binding) -> Iterable[relax.Binding]:
        value = binding.value
        if isinstance(binding, relax.VarBinding) and isinstance(value, relax.Call) and self._can_fold(value):
            folded = self._fold(value)
            binding = binding if folded is None else replace(binding, value=folded)
        if isinstance(binding.value, relax.Constant | relax.ShapeExpr) and isinstance(binding, relax.VarBinding):
            self.replaced[binding.var] = binding.value
        return (binding,)

    def _can_fold(self, call: relax.Call) -> bool:
        if not isinstance(call.op, Op) or call.op.name in _STAY:
            return False
        if self._operators is not None and call.op.name not in self._operators:
            return False
        is_here = self._in_dataflow or call.op.name == "relax.call_tir" or self._operators is not None
        args = [node for arg in call.args for node in walk(arg)]
        has_data = (
            call.op.name == "relax.shape_to_tensor"
            or any(isinstance(arg, relax.Constant) and not isinstance(arg.data, Node) for arg in args)
            or (call.op.name in _CREATING and is_small(infer_struct_info(call)))
        )
        is_closed = not any(
            isinstance(arg, relax.Var | relax.Function | tir.Var) or _is_given_elsewhere(arg) for arg in args
        )
        return is_here and has_data and is_closed and is_pure_call(call, self._mod)

    def _fold(self, call: relax.Call) -> relax.Expr | None:
        return folded(call, self._mod, self._evaluate)


def folded(call: relax.Call, mod: IRModule, evaluate: Evaluate = _interpret) -> relax.Expr | None:
    """Return the value of a call; None if its shape is unknown, or it cannot be computed at compile time."""
    info = infer_struct_info(call)
    if not _is_static(info):
        return None
    function = relax.Function((), relax.SeqExpr((), call), info)
    callees = {node.name_hint for node in walk(call) if isinstance(node, GlobalVar)}
    functions = {name: mod[name] for name in callees} | {"folded constant": function}
    try:
        value = evaluate(IRModule(functions), "folded constant")
    except TvmsError:
        return None  # an error is reported when the call executes
    for node in walk(call):
        if isinstance(node, relax.Constant):
            release_pages(node.data)
    return _constant(value, info, call)


def _constant(value: Any, info: StructInfo, call: relax.Call) -> relax.Expr:
    if isinstance(info, relax.TupleStructInfo):
        fields = tuple([_constant(part, field, call) for part, field in zip(value, info.fields, strict=True)])
        return relax.Tuple(fields, struct_info=info, span=call.span)
    if isinstance(info, relax.ShapeStructInfo):
        return relax.ShapeExpr(
            tuple([tir.IntImm("int64", int(size)) for size in value]), struct_info=info, span=call.span
        )
    return relax.Constant(value, struct_info=info, span=call.span)


def is_small(info: StructInfo) -> bool:
    """Return whether a tensor has a known size of up to 1024 elements."""
    dims = dims_of(info) if isinstance(info, relax.TensorStructInfo) else None
    sizes = [dim.value for dim in dims or () if isinstance(dim, tir.IntImm)]
    return dims is not None and len(sizes) == len(dims) and prod(sizes) <= _LARGEST_CREATED


def _is_given_elsewhere(arg: Node) -> bool:
    return isinstance(arg, relax.Constant) and isinstance(arg.data, Node)


def _is_static(info: StructInfo) -> bool:
    match info:
        case relax.TupleStructInfo():
            return all(map(_is_static, info.fields))
        case relax.TensorStructInfo(shape=relax.ShapeExpr(values=dims)):
            return info.dtype != "void" and all(isinstance(dim, tir.IntImm) for dim in dims)
        case relax.ShapeStructInfo():
            return True
        case _:
            return False
