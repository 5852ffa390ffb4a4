"""Turn calls of operators into calls of PrimFuncs made from their meanings (TVM: `relax.transform.LegalizeOps`)."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, cast

from msgspec.structs import replace

from .. import relax, te, tir
from ..base import BaseFunc, GlobalVar, IRModule, Op, StructInfo
from ..call_te import LoopCall, TensorArguments, is_known
from ..deep import deep
from ..diagnostics import TvmsError
from ..equal import structural_equal, structural_hash
from ..infer import infer_struct_info
from ..ops.binding import plain
from ..ops.inference import dims_of
from ..ops.registry import RelaxOp, find
from ..relax import Call, Expr, ShapeExpr, TensorStructInfo, TupleStructInfo
from .transform import declare_pass


@declare_pass("LegalizeOps")
@deep
def legalize_ops(module: IRModule) -> IRModule:
    """Return `module` with every operator call replaced that has a meaning as a tensor expression and known shapes.

    Each becomes a `call_tir` of a private PrimFunc; equal PrimFuncs are made once. Other calls stay as they are.
    """
    legalizer = _Legalizer(module)
    functions: dict[str, BaseFunc] = {}
    for name, function in module.functions.items():
        if isinstance(function, relax.Function):
            legalized = legalizer.function(function)
            functions.update(legalizer.take_new())
            functions[name] = legalized
        else:
            functions[name] = function
    return replace(module, functions=functions)


class _Legalizer:
    """Rewrites functions, collecting the PrimFuncs that they call."""

    def __init__(self, module: IRModule) -> None:
        self._names = set(module.functions)
        self._known: dict[int, list[tuple[str, tir.PrimFunc]]] = {}
        self._new: dict[str, BaseFunc] = {}
        self._bound: dict[relax.Var, Expr] = {}
        for name, function in module.functions.items():
            if isinstance(function, tir.PrimFunc):
                self._known.setdefault(structural_hash(function), []).append((name, function))

    def take_new(self) -> dict[str, BaseFunc]:
        new, self._new = self._new, {}
        return new

    def function(self, function: relax.Function) -> relax.Function:
        return replace(function, body=self._sequence(function.body))

    def _sequence(self, body: relax.SeqExpr) -> relax.SeqExpr:
        blocks: list[relax.BindingBlock] = []
        for block in body.blocks:
            bindings: list[relax.Binding] = []
            for binding in block.bindings:
                if isinstance(binding, relax.VarBinding):
                    self._bound[binding.var] = binding.value
                    bindings.append(replace(binding, value=self._value(binding.value)))
                else:
                    bindings.append(binding)
            blocks.append(replace(block, bindings=tuple(bindings)))
        return replace(body, blocks=tuple(blocks))

    def _value(self, value: Expr) -> Expr:
        match value:
            case Call():
                return self._call(value)
            case relax.Function():
                return self.function(value)
            case relax.If():
                then, otherwise = self._sequence(value.true_branch), self._sequence(value.false_branch)
                return replace(value, true_branch=then, false_branch=otherwise)
            case _:
                return value

    def _call(self, call: Call) -> Expr:
        op = find(call.op.name) if isinstance(call.op, Op) else None
        if op is None or op.compute is None:
            return call
        lowered = _lower(op, call, self._bound)
        if lowered is None:
            return call
        name = self._add(lowered.function, op.prim_func_name)
        extra = (ShapeExpr(lowered.variables),) if lowered.variables else ()
        args = (GlobalVar(name), relax.Tuple(lowered.args), *extra)
        result = infer_struct_info(call)
        return Call(Op("relax.call_tir"), args, {}, (result,), span=call.span, struct_info=result)

    def _add(self, function: tir.PrimFunc, hint: str) -> str:
        alike = self._known.setdefault(structural_hash(function), [])
        same = sorted(name for name, other in alike if structural_equal(function, other))
        if same:
            return same[0]
        name, count = hint, 0
        while name in self._names:
            count += 1
            name = f"{hint}{count}"
        self._names.add(name)
        self._new[name] = function
        alike.append((name, function))
        return name


def _lower(op: RelaxOp, call: Call, bound: Mapping[relax.Var, Expr]) -> LoopCall | None:
    """Return the PrimFunc that computes `call`; None where a shape or a dtype is not known."""
    try:
        result = infer_struct_info(call)
    except TvmsError:
        return None
    inputs = TensorArguments(bound)
    values: dict[str, Any] = dict(call.attrs)
    scalars = _scalars(op, call)
    if not is_known(result):
        return None
    for param, arg in zip(op.arguments, call.args, strict=False):
        value = te.Expr(scalars[param.name]) if param.name in scalars else inputs.convert(arg)
        if value is None:
            return None
        values[param.name] = _plain_list(value) if param.kind in ("tuple", "opt_tuple") else value
    for param in op.arguments[len(call.args) :]:
        values[param.name] = None
    inner = inputs.inside(result)
    values["result"] = _result(inner)
    assert op.compute is not None
    made = op.compute(SimpleNamespace(**values))
    if made is None:
        return None
    return inputs.finish(cast("tuple[te.Tensor, ...]", made) if isinstance(made, tuple) else (made,))


def _plain_list(value: Any) -> Any:
    """A tuple of scalars as Python numbers, where they are constants."""
    if not isinstance(value, tuple):
        return value
    given = cast("tuple[Any, ...]", value)
    items = tuple(plain(item.node) if isinstance(item, te.Expr) else item for item in given)
    return tuple(te.Expr(item) if isinstance(item, tir.PrimExpr) else item for item in items)


def _result(info: StructInfo) -> Any:
    if isinstance(info, TupleStructInfo):
        return tuple(_result(field) for field in info.fields)
    assert isinstance(info, TensorStructInfo)
    return SimpleNamespace(dims=dims_of(info), dtype=info.dtype)


def _scalars(op: RelaxOp, call: Call) -> dict[str, tir.PrimExpr]:
    """The constant scalars that become a part of the PrimFunc, never all of the arguments."""
    positions = {param.name: number for number, param in enumerate(op.arguments)}
    found: dict[str, tir.PrimExpr] = {}
    for name in op.scalars:
        arg = call.args[positions[name]] if positions[name] < len(call.args) else None
        value = _scalar(arg) if isinstance(arg, relax.Constant) else None
        if value is not None and len(found) + 1 < len(call.args):
            found[name] = value
    return found


def _scalar(constant: relax.Constant) -> tir.PrimExpr | None:
    if getattr(constant.data, "shape", None) != ():
        return None
    return te.const(constant.data.item(), str(constant.data.dtype)).node
