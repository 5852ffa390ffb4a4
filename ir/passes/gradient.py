"""Reverse-mode differentiation (TVM: `relax.transform.Gradient`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from msgspec.structs import replace

from .. import relax, tir
from ..base import IRModule, Op, StructInfo
from ..building.values import apply
from ..deep import deep
from ..diagnostics import TvmsError, error
from ..dtype import is_float
from ..function_table import unused_name
from ..infer import infer_struct_info
from ..visit import substitute, walk
from .dead_code import remove_unused_bindings
from .gradient_rules import RULES, Rule
from .gradient_rules_of_networks import NETWORK_RULES
from .rewriter import ValueRewriter
from .transform import declare_pass

Adjoint: TypeAlias = "relax.Expr | list[Adjoint] | None"
"""Gradient of the target with respect to a value: a tensor, or one for each field of a tuple; None is zero."""


_RULES = {**RULES, **NETWORK_RULES}


def find_rule(name: str) -> Rule | None:
    """Return the rule of the operator called `name`."""
    return _RULES.get(name.removeprefix("relax."))


@declare_pass("Gradient")
@deep
def gradient(
    mod: IRModule,
    func_name: str,
    require_grads: relax.Var | str | Sequence[relax.Var | str] | None = None,
    target_index: int = 0,
) -> IRModule:
    """Add the function `<func_name>_adjoint`, which returns the result of `func_name` and a tuple of gradients.

    They are the gradients of its result, or of field `target_index` of that, which must be a float scalar, with respect
    to `require_grads`: variables of the function or their names; the default is all parameters.

    Raises TvmsError: E0905 if the function does not exist, E0906 if it has no such variable or field, E0908 if it cannot
    be differentiated.
    """
    function = mod.functions.get(func_name)
    if not isinstance(function, relax.Function):
        known = ", ".join(name for name, func in mod.functions.items() if isinstance(func, relax.Function))
        raise error("E0905", f"the module has no graph function '{func_name}'", help=f"it has {known}")
    wanted = _wanted(function, require_grads)
    copies = _copies(function)
    result = differentiated(substitute(function, copies), [copies[var] for var in wanted], target_index)
    name = unused_name(f"{func_name}_adjoint", mod.functions)
    adjoint = replace(remove_unused_bindings(result, mod), attrs={**result.attrs, "global_symbol": name})
    return replace(mod, functions={**mod.functions, name: adjoint})


def differentiated(function: relax.Function, wanted: Sequence[relax.Var], target_index: int = 0) -> relax.Function:
    """Return `function` with gradients with respect to `wanted`, its variables, added to its result.

    Raises TvmsError: E0906 if it has no field `target_index`, E0908 if it cannot be differentiated.
    """
    return _Backward(function).differentiated(wanted, target_index)


def _wanted(
    function: relax.Function, require_grads: relax.Var | str | Sequence[relax.Var | str] | None
) -> list[relax.Var]:
    """Return the variables to differentiate with respect to. Raises E0906 for unknown, repeated or non-float ones."""
    known = {param.name_hint: param for param in function.params}
    for block in function.body.blocks:
        known |= {binding.var.name_hint: binding.var for binding in block.bindings}
    if require_grads is None:
        return list(function.params)
    keys = [require_grads] if isinstance(require_grads, relax.Var | str) else list(require_grads)
    found = [known.get(key) if isinstance(key, str) else key for key in keys]
    for key, var in zip(keys, found, strict=True):
        name = key if isinstance(key, str) else key.name_hint
        if var is None or var not in known.values():
            raise error("E0906", f"the function has no variable '{name}'", help=f"it has {', '.join(known)}")
        if found.count(var) > 1:
            raise error("E0906", f"variable '{name}' is given twice", help="give each variable once")
        if not _is_differentiable(infer_struct_info(var)):
            help = "differentiate with respect to float tensors, or tuples of them"
            raise error("E0906", f"'{name}' is {var.struct_info}, which has no gradient", var.span, help)
    return [var for var in found if var is not None]


def _copies(function: relax.Function) -> dict[relax.Var, relax.Var]:
    """Return new variables for all of the function's, with new symbolic dimensions."""
    dims = {node: replace(node) for node in walk(function) if isinstance(node, tir.Var)}
    variables = [node for node in walk(function) if isinstance(node, relax.Var)]
    return {var: replace(var, struct_info=substitute(var.struct_info, dims)) for var in dict.fromkeys(variables)}


def _is_differentiable(info: StructInfo | None) -> bool:
    if isinstance(info, relax.TupleStructInfo):
        return all(map(_is_differentiable, info.fields))
    return isinstance(info, relax.TensorStructInfo) and is_float(info.dtype)


class _Backward(ValueRewriter):
    """Walks a function backwards, accumulating the gradient of each variable over its uses."""

    def __init__(self, function: relax.Function) -> None:
        super().__init__(function)
        self._function = function
        self._adjoints: dict[relax.Var, Adjoint] = {}

    def differentiated(self, wanted: Sequence[relax.Var], target_index: int) -> relax.Function:
        """Return the function with gradients added to its result."""
        body = self._function.body
        bindings = [binding for block in body.blocks for binding in block.bindings]
        target = self._target(body.body, target_index)
        with self.collecting(in_dataflow=True) as new:
            self._adjoints[target] = self._named(target, _filled("ones", infer_struct_info(target)))
            for binding in reversed(bindings):
                adjoint = self._adjoints.get(binding.var)
                if adjoint is not None:
                    self._spread(binding, adjoint)
            gradients = [self._result(var) for var in wanted]
        outputs: list[relax.Binding] = []
        for var, gradient in zip(wanted, gradients, strict=True):
            name = unused_name(f"{var.name_hint}_adjoint_out", self._names)
            self._names.add(name)
            output = relax.Var(name, struct_info=infer_struct_info(gradient))
            outputs.append(relax.VarBinding(output, gradient))
        block = relax.DataflowBlock((*bindings, *new, *outputs))
        value = relax.Tuple((body.body, relax.Tuple(tuple([output.var for output in outputs]))))
        value = replace(value, struct_info=infer_struct_info(value))
        body = replace(body, blocks=(block,), body=value, struct_info=value.struct_info)
        return replace(self._function, body=body, ret_struct_info=value.struct_info, struct_info=None)

    def _target(self, result: relax.Expr, index: int) -> relax.Var:
        fields = result.fields if isinstance(result, relax.Tuple) else (result,)
        if not 0 <= index < len(fields):
            raise error("E0906", f"the function has no result {index}", result.span, f"it has {len(fields)}")
        target = fields[index]
        info = infer_struct_info(target)
        is_scalar = isinstance(info, relax.TensorStructInfo) and info.ndim == 0 and is_float(info.dtype)
        if not isinstance(target, relax.Var) or not is_scalar:
            help = "return a variable of shape (), such as the R.sum or R.mean of a loss"
            raise error("E0908", f"the result to differentiate is {info}, not a float scalar", target.span, help)
        return target

    def _spread(self, binding: relax.Binding, adjoint: Adjoint) -> None:
        """Propagate the gradient of a binding to its operands."""
        match binding.value:
            case relax.Call(op=Op(name=name)) as call:
                rule = find_rule(name)
                if rule is None:
                    raise _no_gradient(f"R.{name.removeprefix('relax.')} has no gradient", call)
                for arg, partial in zip(call.args, self._partials(call, binding.var, adjoint), strict=False):
                    self._add(arg, partial)
            case relax.TupleGetItem(tuple_value=whole, index=index):
                info = infer_struct_info(whole)
                assert isinstance(info, relax.TupleStructInfo)
                self._add(whole, [adjoint if n == index else None for n in range(len(info.fields))])
            case relax.Var() | relax.Tuple():
                self._add(binding.value, adjoint)
            case relax.Constant() | relax.ShapeExpr() | relax.PrimValue():
                pass
            case value:
                raise _no_gradient(f"the value of '{binding.var.name_hint}' has no gradient", value)

    def _partials(self, call: relax.Call, result: relax.Var, adjoint: Adjoint) -> Sequence[Adjoint]:
        assert isinstance(call.op, Op)
        rule = find_rule(call.op.name)
        assert rule is not None
        given = self._whole(adjoint, infer_struct_info(result))
        if isinstance(given, relax.Tuple):
            given = self.emit(given)
        try:
            return rule(call, result, given)
        except TvmsError as problem:
            raise _no_gradient(problem.diagnostics[0].message, call) from None

    def _add(self, expr: relax.Expr, partial: Adjoint) -> None:
        """Add a gradient to those of the variables in an operand."""
        if partial is None or not _may_have_gradient(infer_struct_info(expr)):
            return
        match expr:
            case relax.Var():
                self._adjoints[expr] = self._sum(self._adjoints.get(expr), partial, expr)
            case relax.Tuple(fields=fields):
                parts = partial if isinstance(partial, list) else _fields(partial, len(fields))
                for field, part in zip(fields, parts, strict=True):
                    self._add(field, part)
            case _:
                pass

    def _sum(self, known: Adjoint, partial: Adjoint, var: relax.Var) -> Adjoint:
        if isinstance(known, list) or isinstance(partial, list):
            pairs = zip(_parts(known, partial), _parts(partial, known), strict=True)
            return [self._sum(a, b, var) for a, b in pairs]
        if known is None or partial is None:
            given = known if partial is None else partial
            is_new = given is not None and not isinstance(infer_struct_info(given), relax.TupleStructInfo)
            return self._named(var, given) if is_new and given is not None else given
        return self._named(var, apply("add", known, partial))

    def _named(self, var: relax.Var, value: relax.Expr) -> relax.Var:
        return self.emit(value, f"{var.name_hint}_adjoint")

    def _whole(self, adjoint: Adjoint, info: StructInfo) -> relax.Expr:
        """Return a gradient as an expression, with zeros for unknown parts."""
        if isinstance(info, relax.TupleStructInfo) and not isinstance(adjoint, relax.Expr):
            parts = adjoint if adjoint is not None else [None] * len(info.fields)
            return relax.Tuple(
                tuple([self._whole(part, field) for part, field in zip(parts, info.fields, strict=True)])
            )
        if adjoint is None:
            return _filled("zeros", info)
        assert isinstance(adjoint, relax.Expr)
        return adjoint

    def _result(self, var: relax.Var) -> relax.Expr:
        """Return the gradient of a variable, bound to a name derived from it."""
        whole = self._whole(self._adjoints.get(var), infer_struct_info(var))
        return whole if isinstance(whole, relax.Var) else self._named(var, whole)


def _may_have_gradient(info: StructInfo) -> bool:
    if isinstance(info, relax.TupleStructInfo):
        return any(map(_may_have_gradient, info.fields))
    return _is_differentiable(info)


def _parts(adjoint: Adjoint, like: Adjoint) -> list[Adjoint]:
    if isinstance(adjoint, list):
        return adjoint
    assert isinstance(like, list)
    return _fields(adjoint, len(like))


def _fields(adjoint: Adjoint, count: int) -> list[Adjoint]:
    if adjoint is None or isinstance(adjoint, list):
        return [None] * count if adjoint is None else adjoint
    return [relax.TupleGetItem(adjoint, index) for index in range(count)]


def _filled(name: str, info: StructInfo) -> relax.Expr:
    if not isinstance(info, relax.TensorStructInfo) or not isinstance(info.shape, relax.ShapeExpr):
        raise error("E0908", f"the gradient needs the shape of {info}, which is unknown")
    return apply(name, info.shape, dtype=info.dtype)


def _no_gradient(reason: str, value: relax.Expr) -> TvmsError:
    help = "use operators that have one, such as R.add, R.matmul and R.nn.relu, and differentiate before lowering"
    return error("E0908", reason, value.span, help)
