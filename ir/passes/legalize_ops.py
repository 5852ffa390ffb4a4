"""Turn calls of operators into calls of PrimFuncs made from their meanings (TVM: `relax.transform.LegalizeOps`)."""

from __future__ import annotations

from collections.abc import Mapping
from string import ascii_lowercase, ascii_uppercase
from types import SimpleNamespace
from typing import Any, cast

from msgspec import Struct
from msgspec.structs import replace

from .. import relax, te, tir
from ..base import BaseFunc, GlobalVar, IRModule, Op, StructInfo
from ..deep import deep
from ..diagnostics import TvmsError
from ..equal import structural_equal, structural_hash
from ..infer import infer_struct_info, replace_dims
from ..ops.binding import plain
from ..ops.inference import dims_of
from ..ops.registry import RelaxOp, find
from ..relax import Call, Expr, PrimStructInfo, ShapeExpr, ShapeStructInfo, TensorStructInfo, TupleStructInfo
from ..visit import free_variables, substitute
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


class _Lowered(Struct):
    """A PrimFunc, what to call it with, and the variables that it cannot tell from the shapes."""

    function: tir.PrimFunc
    args: tuple[Expr, ...]
    variables: tuple[tir.PrimExpr, ...]


def _lower(op: RelaxOp, call: Call, bound: Mapping[relax.Var, Expr]) -> _Lowered | None:
    """Return the PrimFunc that computes `call`; None where a shape or a dtype is not known."""
    try:
        result = infer_struct_info(call)
    except TvmsError:
        return None
    inputs = _Inputs(bound)
    values: dict[str, Any] = dict(call.attrs)
    scalars = _scalars(op, call)
    if not _is_known(result):
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


def _is_known(info: StructInfo) -> bool:
    match info:
        case TensorStructInfo():
            return dims_of(info) is not None and info.dtype != "void"
        case TupleStructInfo():
            return all(_is_known(field) for field in info.fields)
        case _:
            return False


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


class _Inputs:
    """The arguments of a call as tensors and scalars of the PrimFunc, whose variables are its own."""

    def __init__(self, bound: Mapping[relax.Var, Expr]) -> None:
        self._bound = bound
        self._variables: dict[tir.Var, tir.Var] = {}
        self._params: list[te.Tensor | tir.Var] = []
        self._args: list[Expr] = []
        self._scalars: list[tir.Var] = []

    def convert(self, arg: Expr) -> Any:
        """Return `arg` as a meaning takes it; None where its shape or dtype is not known."""
        info = infer_struct_info(arg)
        match info:
            case TensorStructInfo() if _is_known(info):
                inner = self.inside(info)
                assert isinstance(inner, TensorStructInfo)
                shape = dims_of(inner)
                assert shape is not None
                tensor = te.placeholder(shape, info.dtype, self._name(arg, ascii_uppercase, "tensor_input"))
                self._add(tensor, arg)
                return tensor
            case ShapeStructInfo(values=dims) if dims is not None:
                return tuple(self._own(dim) for dim in dims)
            case TupleStructInfo():
                fields = [self.convert(field) for field in self._fields(arg, len(info.fields))]
                return None if any(field is None for field in fields) else tuple(fields)
            case PrimStructInfo(value=tir.PrimExpr() as value):
                return self._own(value)
            case PrimStructInfo():
                var = tir.Var(info.dtype, self._name(arg, ascii_lowercase, "scalar_input"))
                self._add(var, arg)
                return te.Expr(var)
            case _:
                return None

    def _fields(self, arg: Expr, count: int) -> tuple[Expr, ...]:
        """The values in a tuple: themselves where they are known, else taken out of it."""
        while isinstance(arg, relax.Var) and isinstance(self._bound.get(arg), relax.Tuple | relax.Var):
            arg = self._bound[arg]
        if isinstance(arg, relax.Tuple):
            return arg.fields
        return tuple(relax.TupleGetItem(arg, number) for number in range(count))

    def _name(self, arg: Expr, letters: str, fallback: str) -> str:
        if isinstance(arg, relax.Var):
            return arg.name_hint
        number = len(self._params)
        return letters[number] if number < len(letters) else f"{fallback}_{number}"

    def _add(self, param: te.Tensor | tir.Var, arg: Expr) -> None:
        self._params.append(param)
        self._args.append(arg)

    def _own(self, value: tir.PrimExpr) -> te.Expr:
        """A scalar in the variables of the PrimFunc, which uses them."""
        self._rename(value)
        renamed = substitute(value, self._variables)
        self._scalars += [var for var in free_variables(renamed) if isinstance(var, tir.Var)]
        return te.Expr(renamed)

    def _rename(self, value: tir.PrimExpr) -> None:
        for var in free_variables(value):
            if isinstance(var, tir.Var) and var not in self._variables:
                self._variables[var] = replace(var)

    def inside(self, info: StructInfo) -> StructInfo:
        """`info` in the variables of the PrimFunc."""
        match info:
            case TensorStructInfo() | ShapeStructInfo():
                for dim in dims_of(info) or ():
                    self._rename(dim)
            case TupleStructInfo():
                for field in info.fields:
                    self.inside(field)
            case _:
                pass
        return replace_dims(info, self._variables)

    def finish(self, outputs: tuple[te.Tensor, ...]) -> _Lowered:
        """Return the PrimFunc from the parameters so far to `outputs`, without tensors that only gave a shape."""
        read = set(te.computations(outputs))
        kept = [n for n, p in enumerate(self._params) if not isinstance(p, te.Tensor) or p.op in read]
        params = [self._params[number] for number in kept]
        shapes = [param.dims for param in (*params, *outputs) if isinstance(param, te.Tensor)]
        defined = {dim for shape in shapes for dim in shape if isinstance(dim, tir.Var)}
        used = [var for shape in shapes for dim in shape for var in free_variables(dim) if isinstance(var, tir.Var)]
        unbound = [var for var in dict.fromkeys((*self._scalars, *used)) if var not in defined and var not in params]
        function = te.create_prim_func([*params, *outputs, *unbound])
        attrs = {key: value for key, value in function.attrs.items() if key != "global_symbol"}
        outside = {inner: outer for outer, inner in self._variables.items()}
        return _Lowered(
            replace(function, attrs=attrs),
            tuple(self._args[number] for number in kept),
            tuple(outside[var] for var in unbound),
        )
