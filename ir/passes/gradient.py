"""Reverse-mode differentiation (TVM: `relax.transform.Gradient`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from msgspec.structs import replace

from .. import relax, tir
from ..base import IRModule, Node, Op, StructInfo
from ..building.values import apply
from ..deep import deep
from ..diagnostics import TvmsError, error
from ..dtype import is_float
from ..function_table import FunctionTable, unused_name
from ..infer import infer_struct_info
from ..visit import substitute, walk
from .checkpoints import Stages, find_stages
from .dead_code import remove_unused_bindings
from .gradient_rules import RULES, Rule
from .gradient_rules_of_networks import NETWORK_RULES
from .rewriter import ValueRewriter
from .te_gradients import CALL_WITH_GRAD, te_gradients, without_gradient
from .transform import declare_pass

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
    table = FunctionTable(mod.functions)
    params = [cast("relax.Var", copies[var]) for var in wanted]
    result = differentiated(substitute(function, copies), params, target_index, table)
    name = unused_name(f"{func_name}_adjoint", table.functions)
    adjoint = replace(remove_unused_bindings(result, mod), attrs={**result.attrs, "global_symbol": name})
    return replace(mod, functions={**table.functions, name: adjoint})


def differentiated(
    function: relax.Function,
    wanted: Sequence[relax.Var],
    target_index: int = 0,
    table: FunctionTable | None = None,
) -> relax.Function:
    """Return `function` with gradients with respect to `wanted`, its variables, added to its result.

    Functions that compute gradients are added to `table`. Raises TvmsError: E0906 if it has no field `target_index`, E0908
    if it cannot be differentiated.
    """
    stages = find_stages(function)
    variables = [cast("relax.Var", stages.replaced.get(var, var)) for var in wanted]
    return _Backward(stages, FunctionTable({}) if table is None else table).differentiated(variables, target_index)


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


def _copies(function: relax.Function) -> dict[Node, Node]:
    """Return new variables for all of the function's, with new symbolic dimensions, and these."""
    nodes = dict.fromkeys(walk(function))
    dims: dict[Node, Node] = {node: replace(node) for node in nodes if isinstance(node, tir.Var)}
    variables = [node for node in nodes if isinstance(node, relax.Var)]
    return dims | {var: replace(var, struct_info=substitute(var.struct_info, dims)) for var in variables}


def _is_differentiable(info: StructInfo | None) -> bool:
    if isinstance(info, relax.TupleStructInfo):
        return all(map(_is_differentiable, info.fields))
    return isinstance(info, relax.TensorStructInfo) and is_float(info.dtype)


class _Backward(ValueRewriter):
    """Walks a function backwards, accumulating the gradient of each variable over its uses."""

    def __init__(self, stages: Stages, table: FunctionTable) -> None:
        super().__init__(stages.function)
        self._function = stages.function
        self._table = table
        self._not_kept = stages.values
        self._again: dict[Node, Node] = {}
        """Variables with the values of those that are not kept, computed again."""
        self._adjoints: dict[relax.Var, relax.Var] = {}
        """The gradient of the target with respect to each variable, so far."""

    def differentiated(self, wanted: Sequence[relax.Var], target_index: int) -> relax.Function:
        """Return the function with gradients added to its result."""
        body = self._function.body
        bindings = [binding for block in body.blocks for binding in block.bindings]
        target = self._target(body.body, target_index)
        with self.collecting(in_dataflow=True) as new:
            self._add(target, _filled("ones", infer_struct_info(target)))
            for binding in reversed(bindings):
                adjoint = self._adjoints.get(binding.var)
                if adjoint is not None:
                    self._spread(binding, adjoint)
            outputs = [self._output(var) for var in wanted]
        block = relax.DataflowBlock((*map(without_gradient, bindings), *new))
        value = relax.Tuple((body.body, relax.Tuple(tuple(outputs))))
        value = replace(value, struct_info=infer_struct_info(value))
        body = replace(body, blocks=(block,), body=value, struct_info=value.struct_info)
        return replace(self._function, body=body, ret_struct_info=value.struct_info, struct_info=None)

    def _output(self, var: relax.Var) -> relax.Var:
        """Return a variable that holds the gradient of `var` outside of the block."""
        gradient = self._adjoints.get(var) or self._named(var, _zeros(var, infer_struct_info(var)))
        return self._bound(relax.Var, f"{var.name_hint}_adjoint_out", gradient)

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

    def _spread(self, binding: relax.Binding, adjoint: relax.Var) -> None:
        """Propagate the gradient of a binding to its operands."""
        match binding.value:
            case relax.Call(op=Op(name=name)) as call if name == CALL_WITH_GRAD:
                given = self.emit(te_gradients(self._kept(call), adjoint, self._table))
                is_tuple = isinstance(given.struct_info, relax.TupleStructInfo)
                self._add(call.args[1], given if is_tuple else relax.Tuple((given,)))
            case relax.Call(op=Op(name=name)) as call:
                rule = find_rule(name)
                if rule is None:
                    raise _no_gradient(f"R.{name.removeprefix('relax.')} has no gradient", call)
                result = self._kept(binding.var)
                try:
                    partials = rule(self._kept(call), result, adjoint)
                except TvmsError as problem:
                    raise _no_gradient(problem.diagnostics[0].message, call) from None
                for arg, partial in zip(call.args, partials, strict=False):
                    if partial is not None:
                        self._add(arg, _as_expr(partial))
            case relax.TupleGetItem(tuple_value=relax.Var() as whole, index=index):
                known = self._adjoints.get(whole)
                if known is None:
                    zeros = _zeros(whole, infer_struct_info(whole))
                    parts = [_field(zeros, number) for number in range(_size(whole))]
                    parts[index] = adjoint
                else:
                    parts = [_field(known, number) for number in range(_size(whole))]
                    parts[index] = _sum(parts[index], adjoint)
                self._adjoints[whole] = self._named(whole, relax.Tuple(tuple(parts)))
            case relax.TupleGetItem(tuple_value=relax.Tuple(fields=fields), index=index):
                self._add(fields[index], adjoint)
            case relax.Var() | relax.Tuple():
                self._add(binding.value, adjoint)
            case relax.Constant() | relax.ShapeExpr() | relax.PrimValue():
                pass
            case value:
                raise _no_gradient(f"the value of '{binding.var.name_hint}' has no gradient", value)

    def _kept(self, expr: Any) -> Any:
        """Return an expression with the variables that are not kept replaced by their values, computed again once."""
        if not self._not_kept:
            return expr
        for var in walk(expr):
            if var in self._not_kept and var not in self._again:
                value = self._kept(self._not_kept[var])
                self._again[var] = self._bound(relax.DataflowVar, f"{var.name_hint}_cp", value)  # type: ignore[reportAttributeAccessIssue]
        return substitute(expr, self._again)

    def _add(self, expr: relax.Expr, partial: relax.Expr) -> None:
        """Add a gradient to those of the variables in an operand."""
        if not _may_have_gradient(infer_struct_info(expr)):
            return
        match expr:
            case relax.Var():
                known = self._adjoints.get(expr)
                self._adjoints[expr] = self._named(expr, partial if known is None else _sum(known, partial))
            case relax.Tuple(fields=fields):
                for number, field in enumerate(fields):
                    self._add(field, _field(partial, number))
            case _:
                pass

    def _named(self, var: relax.Var, value: relax.Expr) -> relax.Var:
        """Bind a gradient of `var` to a variable of its own; a value that is bound already is not computed again."""
        known = self._emitted.get(id(value))
        new = self._bound(relax.DataflowVar, f"{var.name_hint}_adjoint", value if known is None else known[1])
        if not isinstance(value, relax.Var):
            self._emitted[id(value)] = value, new
        return new

    def _bound(self, kind: type[relax.Var], hint: str, value: relax.Expr) -> relax.Var:
        flat = self.flat(value)
        name = unused_name(hint, self._names)
        self._names.add(name)
        var = kind(name, struct_info=infer_struct_info(flat))
        self.append(relax.VarBinding(var, flat))
        return var


def _may_have_gradient(info: StructInfo) -> bool:
    if isinstance(info, relax.TupleStructInfo):
        return any(map(_may_have_gradient, info.fields))
    return _is_differentiable(info)


def _as_expr(partial: Any) -> relax.Expr:
    """Return the gradient that a rule gives: a list has those of the fields of a tuple."""
    if isinstance(partial, list):
        return relax.Tuple(tuple(map(_as_expr, cast("list[Any]", partial))))
    return partial


def _size(value: relax.Expr) -> int:
    info = infer_struct_info(value)
    assert isinstance(info, relax.TupleStructInfo)
    return len(info.fields)


def _field(value: relax.Expr, number: int) -> relax.Expr:
    return value.fields[number] if isinstance(value, relax.Tuple) else relax.TupleGetItem(value, number)


def _sum(known: relax.Expr, partial: relax.Expr) -> relax.Expr:
    """Return the sum of two gradients, field by field for tuples."""
    if not isinstance(infer_struct_info(known), relax.TupleStructInfo):
        return apply("add", known, partial)
    return relax.Tuple(tuple([_sum(_field(known, at), _field(partial, at)) for at in range(_size(known))]))


def _zeros(value: relax.Expr, info: StructInfo) -> relax.Expr:
    """Return the gradient of a value that the target does not depend on; values that have none get an empty tuple."""
    if isinstance(info, relax.TupleStructInfo):
        fields = [_zeros(relax.TupleGetItem(value, number), field) for number, field in enumerate(info.fields)]
        return relax.Tuple(tuple(fields))
    if not _is_differentiable(info):
        return relax.Tuple(())
    is_known = isinstance(info, relax.TensorStructInfo) and isinstance(info.shape, relax.ShapeExpr)
    return _filled("zeros", info) if is_known else apply("zeros_like", value)


def _filled(name: str, info: StructInfo) -> relax.Expr:
    if not isinstance(info, relax.TensorStructInfo) or not isinstance(info.shape, relax.ShapeExpr):
        raise error("E0908", f"the gradient needs the shape of {info}, which is unknown")
    return apply(name, info.shape, dtype=info.dtype)


def _no_gradient(reason: str, value: relax.Expr) -> TvmsError:
    help = "use operators that have one, such as R.add, R.matmul and R.nn.relu, and differentiate before lowering"
    return error("E0908", reason, value.span, help)
