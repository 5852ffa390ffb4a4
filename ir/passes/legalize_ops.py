"""Replace operators by PrimFuncs derived from their definitions (TVM: `relax.transform.LegalizeOps`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias, cast

from msgspec.structs import replace

from .. import relax, te, tir
from ..base import BaseFunc, GlobalVar, IRModule, Op
from ..building.block_builder import BlockBuilder
from ..building.call_te import LoopCall, TensorArguments, is_known
from ..building.meaning import meaning_of
from ..deep import deep
from ..diagnostics import TvmsError
from ..function_table import FunctionTable, numbered
from ..infer import infer_struct_info
from ..ops.inference import dims_of
from ..ops.registry import RelaxOp, find
from ..relax import Call, Expr, ShapeExpr
from ..run_time_checks import checks_of_sizes
from .fold_constant import folded, is_small
from .transform import declare_pass

LegalizeFunc: TypeAlias = Callable[[BlockBuilder, Call], Expr]
"""Returns the replacement of a call; it may emit bindings, which come before the call."""
_registered: dict[str, LegalizeFunc] = {}


def register_legalize(op_name: str, legal_func: LegalizeFunc | None = None) -> Any:
    """Use `legal_func` for the calls of an operator in `LegalizeOps`; without it, return a decorator that does."""
    if legal_func is None:
        return partial(register_legalize, op_name)
    _registered[op_name] = legal_func
    return legal_func


def unregister_legalize(op_name: str) -> None:
    """Forget the function of `register_legalize` for an operator, if there is one."""
    _registered.pop(op_name, None)


@declare_pass("LegalizeOps")
@deep
def legalize_ops(
    module: IRModule,
    customize_legalize_map: Mapping[str, LegalizeFunc] | None = None,
    enable_warning: bool = False,
    skip_ops: Sequence[str] | None = None,
) -> IRModule:
    """Replace every call of an operator that is defined by a tensor expression and has known shapes.

    Each becomes a `call_tir` of a private PrimFunc; equal PrimFuncs are shared. `R.arange` and `R.astype` of numbers become
    constants of up to 1024 elements. Other calls are kept. Where a call needs
    sizes to be equal that are not proven equal, `R.match_cast` checks them at run time. Functions in
    `customize_legalize_map`, by names of operators such as "relax.add", replace calls themselves, and so do those of
    `register_legalize`; what they return and emit is also legalized. `enable_warning` has no effect.
    Calls of the operators in `skip_ops` are kept.
    """
    custom = {**_registered, **(customize_legalize_map or {})}
    return _legalized(_Legalizer(module, custom, skipped=frozenset(skip_ops or ())))


def legalize_only(module: IRModule, names: Mapping[str, str]) -> IRModule:
    """Return `module` with only the calls of some operators legalized; `names` maps their names, such as "relax.exp", to those of
    the PrimFuncs.
    """
    return _legalized(_Legalizer(module, {}, names))


def _legalized(legalizer: _Legalizer) -> IRModule:
    module = legalizer.module
    functions: dict[str, BaseFunc] = {}
    for name, function in module.functions.items():
        if isinstance(function, relax.Function):
            legalized = legalizer.function(function)
            functions.update(legalizer.take_new())
            functions[name] = legalized
        else:
            functions[name] = function
    return replace(module, functions=functions)


_CALL_TIR = Op("relax.call_tir")
_OF_NUMBERS = ("relax.arange", "relax.astype")
"""Operators whose result is a constant if their arguments are numbers."""


class _Legalizer:
    """Rewrites functions, and collects the PrimFuncs that they call. `names` are those of the PrimFuncs of operators; if it is
    given, calls of other operators are kept.
    """

    def __init__(
        self,
        module: IRModule,
        custom: Mapping[str, LegalizeFunc],
        names: Mapping[str, str] | None = None,
        skipped: frozenset[str] = frozenset(),
    ) -> None:
        self.module, self._names, self._skipped = module, names, skipped
        self._table = FunctionTable(module.functions)
        self._builder = BlockBuilder(module, self._table)
        self._custom = {name: function for name, function in custom.items() if name not in skipped}
        self._taken = len(module.functions)
        self._bound: dict[relax.Var, Expr] = {}
        self._known: dict[str, tuple[str, tuple[int, ...]]] = {}
        """The function of each key of calls (`_key`), and the positions of its arguments among those of the call."""

    def _is_kept(self, operator: str) -> bool:
        return operator in self._skipped or (self._names is not None and operator not in self._names)

    def take_new(self) -> dict[str, BaseFunc]:
        """Return the functions added since the last call."""
        new = dict(list(self._table.functions.items())[self._taken :])
        self._taken += len(new)
        return new

    def function(self, function: relax.Function) -> relax.Function:
        return replace(function, body=self._sequence(function.body))

    def _sequence(self, body: relax.SeqExpr) -> relax.SeqExpr:
        blocks: list[relax.BindingBlock] = []
        for block in body.blocks:
            bindings: list[relax.Binding] = []
            for binding in block.bindings:
                bindings += self._binding(binding, isinstance(block, relax.DataflowBlock))
            blocks.append(replace(block, bindings=tuple(bindings)))
        return replace(body, blocks=tuple(blocks))

    def _binding(self, binding: relax.Binding, in_dataflow: bool) -> list[relax.Binding]:
        if not isinstance(binding, relax.VarBinding):
            return [binding]
        bindings = self._legal(binding, in_dataflow)
        value = binding.value
        is_kept = isinstance(value, Call) and any(other.value is value for other in bindings)
        checks = () if is_kept else checks_of_sizes(value, relax.DataflowVar if in_dataflow else relax.Var)
        return [*checks, *bindings]

    def _legal(self, binding: relax.VarBinding, in_dataflow: bool) -> list[relax.Binding]:
        """Return the bindings that replace one: those of intermediate results, and the legalized one."""
        value = self._bound[binding.var] = binding.value
        function = self._custom.get(value.op.name) if isinstance(value, Call) and isinstance(value.op, Op) else None
        if function is None:
            emitted, new = self._with_fields_bound(self._value(value), in_dataflow)
            return [*emitted, replace(binding, value=new)]
        emitted, new = self._replaced(function, cast("Call", value), in_dataflow)
        new_binding = replace(binding, value=new)
        if (
            isinstance(new, Call) and new.op == cast("Call", value).op
        ):  # the function would be called again, without end
            return [*emitted, replace(binding, value=self._value(new))]
        return [*emitted, *self._binding(new_binding, in_dataflow)]

    def _replaced(self, function: LegalizeFunc, call: Call, in_dataflow: bool) -> tuple[list[relax.Binding], Expr]:
        """Return the legalized bindings that `function` emits, and the value that it returns."""
        builder = self._builder
        builder.begin_block(in_dataflow)
        new = builder.normalize(function(builder, call))
        emitted = builder.end_block().bindings
        return [part for binding in emitted for part in self._binding(binding, in_dataflow)], new

    def _with_fields_bound(self, value: Expr, in_dataflow: bool) -> tuple[Sequence[relax.Binding], Expr]:
        """Return the bindings of the fields of tuples that a call of a loop function takes, and the call of their variables."""
        if not isinstance(value, Call) or value.op != _CALL_TIR:
            return (), value
        fields: tuple[Expr, ...] = getattr(value.args[1], "fields", ())
        if not any(isinstance(field, relax.TupleGetItem) for field in fields):
            return (), value
        self._builder.begin_block(in_dataflow)
        new = self._builder.normalize(value)
        return self._builder.end_block().bindings, new

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
        if isinstance(call.op, Op) and self._is_kept(call.op.name):
            return call
        if op is not None and op.is_identity:
            return call.args[0]
        if op is not None and op.at_run_time:
            return _at_run_time(op, call)
        if op is None or op.compute is None:
            return call
        if op.name in _OF_NUMBERS and (value := _small_constant(call)) is not None:
            return value
        key = _key(call)
        if key is not None and key in self._known:
            name, positions = self._known[key]
            return _call_tir(call, name, tuple(call.args[position] for position in positions))
        lowered = lowered_call(op, call, self._bound)
        if lowered is None:
            return call
        hint = op.prim_func_name if self._names is None else self._names[cast("Op", call.op).name]
        name = self._table.add(lowered.function, numbered(hint))
        if key is not None:
            self._known[key] = name, tuple(call.args.index(arg) for arg in lowered.args)
        return _call_tir(call, name, lowered.args, lowered.variables)


def _small_constant(call: Call) -> Expr | None:
    """Return the value of a call whose arguments are numbers; None if it has others, or if the result is large."""
    is_small_number = all(map(_is_number, call.args)) and is_small(infer_struct_info(call))
    return folded(call, IRModule({})) if is_small_number else None


def _is_number(arg: Expr) -> bool:
    if isinstance(arg, relax.PrimValue):
        return isinstance(arg.value, tir.IntImm | tir.FloatImm)
    return isinstance(arg, relax.Constant) and getattr(arg.data, "shape", None) == ()


def _call_tir(call: Call, name: str, args: tuple[Expr, ...], variables: tuple[tir.PrimExpr, ...] = ()) -> Call:
    """Return the call of a function that computes `call`; `variables` are the sizes that no argument determines."""
    result = infer_struct_info(call)
    extra = (ShapeExpr(variables),) if variables else ()
    return Call(
        _CALL_TIR,
        (GlobalVar(name), relax.Tuple(args), *extra),
        {},
        (result,),
        span=call.span,
        struct_info=result,
    )


def _key(call: Call) -> str | None:
    """Return a text that is equal for calls that the same function computes; None if the sizes are not all constant, or if
    an argument is not a variable.
    """
    args: list[Any] = []
    for arg in call.args:
        info = arg.struct_info
        if not isinstance(arg, relax.Var) or not isinstance(info, relax.TensorStructInfo):
            return None
        sizes = [(dim.value, dim.dtype) for dim in dims_of(info) or () if isinstance(dim, tir.IntImm)]
        if len(sizes) != info.ndim:
            return None
        args.append((info.dtype, sizes, call.args.index(arg)))  # equal arguments are one parameter
    return repr((call.op, call.attrs, args)) if all(map(_is_plain, call.attrs.values())) else None


def _is_plain(value: Any) -> bool:
    """Return whether `repr` tells a value of an attribute from all others."""
    if isinstance(value, tuple | list):
        return all(map(_is_plain, cast("Sequence[Any]", value)))
    return isinstance(value, str | int | float | None)


def _at_run_time(op: RelaxOp, call: Call) -> Call:
    """Return the call of the function that computes `op` from its arguments and its attributes, which are texts."""
    info = infer_struct_info(call)
    attributes = (relax.StringImm(call.attrs[param.name]) for param in op.attributes)
    args = (relax.ExternFunc(op.run_time_name), *call.args, *attributes)
    return Call(Op("relax.call_pure_packed"), args, {}, (info,), span=call.span, struct_info=info)


def lowered_call(op: RelaxOp, call: Call, bound: Mapping[relax.Var, Expr]) -> LoopCall | None:
    """Return the PrimFunc that computes `call`, a call of `op`; None if a shape or a dtype is unknown.

    `bound` maps variables to their values.
    """
    try:
        result = infer_struct_info(call)
    except TvmsError:
        return None
    if not is_known(result):
        return None
    inputs, scalars = TensorArguments(bound), _scalars(op, call)

    def convert(name: str, arg: Expr) -> Any:
        return scalars[name] if name in scalars else inputs.convert(arg)

    own = replace(call, attrs=inputs.nested(dict(call.attrs)))
    outputs = meaning_of(op, own, inputs.inside(result), convert)
    return None if outputs is None else inputs.finish(outputs)


def _scalars(op: RelaxOp, call: Call) -> dict[str, tir.PrimExpr]:
    """Return the constant scalars that become part of the PrimFunc; at least one argument remains."""
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
    return te.const(constant.data.item(), str(constant.data.dtype))
