"""Remove bindings that are aliases of variables (TVM: `CanonicalizeBindings`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec import Struct, field
from msgspec.structs import replace

from .. import relax
from ..base import IRModule, Node
from ..deep import deep
from ..equal import structural_equal
from ..visit import walk
from .rewriter import BindingRewriter, refined_result, refined_variable
from .symbolic_values import use_known_dims
from .transform import declare_pass, map_functions


@declare_pass("CanonicalizeBindings", opt_level=1)
@deep
def canonicalize_bindings(mod: IRModule) -> IRModule:
    """Replace aliases by the variables that they denote, and fields of known tuples by their values.

    Variables of a dataflow block that are not used outside of it become dataflow variables. Variables bound to
    constants are replaced by them. Symbolic dimensions that a `match_cast` equates are unified. Raises TvmsError E0909
    if two of them give different sizes for one dimension.
    """
    return map_functions(mod, relax.Function, _canonicalize)


def _canonicalize(function: relax.Function) -> relax.Function:
    changed = without_aliases(use_known_dims(function))
    return function if changed is function else refined_result(changed)


def without_aliases(function: relax.Function) -> relax.Function:
    """Return `function` without aliases of variables."""
    return _Renamer(_plan(function)).function(function)


class _Plan(Struct):
    """Replacements of variables."""

    used: dict[relax.Var, relax.Var] = field(default_factory=dict[relax.Var, relax.Var])
    """The variable to use instead of each."""
    bound: dict[relax.Var, relax.Var] = field(default_factory=dict[relax.Var, relax.Var])
    """The variable to bind instead of each."""
    constants: dict[relax.Var, relax.Constant] = field(default_factory=dict[relax.Var, relax.Constant])
    gone: set[relax.Var] = field(default_factory=set[relax.Var])
    """Variables whose bindings are removed."""


def _plan(function: relax.Function) -> _Plan:
    blocks = [node for node in walk(function) if isinstance(node, relax.BindingBlock)]
    outside, plan = set(_used_outside(function.body)), _Plan()
    for block in blocks:
        for binding in block.bindings if isinstance(block, relax.DataflowBlock) else ():
            if not isinstance(binding.var, relax.DataflowVar) and binding.var not in outside:
                var = relax.DataflowVar(
                    binding.var.name_hint, struct_info=binding.var.struct_info, span=binding.var.span
                )
                plan.bound[binding.var] = plan.used[binding.var] = var
    known: dict[relax.Var, relax.Expr] = {}
    aliases: dict[relax.Var, relax.Var] = {}
    for block in blocks:
        for binding in block.bindings:
            value = known[binding.var] = _unwrapped(binding.value, known)
            if isinstance(value, relax.Constant):
                plan.constants[binding.var] = value
            elif isinstance(value, relax.Var) and _says_the_same(binding):
                aliases[binding.var] = value
    for var, value in aliases.items():
        target = _end(_end(value, aliases), plan.bound)
        plan.gone.add(var)
        if isinstance(var, relax.DataflowVar) or not isinstance(target, relax.DataflowVar) or var not in outside:
            plan.used[var] = target
        else:  # an output of the block is bound where its value is computed
            plan.bound[target] = plan.used[target] = var
    return plan


def _end(var: relax.Var, steps: Mapping[relax.Var, relax.Var]) -> relax.Var:
    """Return the variable at the end of a chain of replacements."""
    while var in steps:
        var = steps[var]
    return var


def _unwrapped(value: relax.Expr, known: Mapping[relax.Var, relax.Expr]) -> relax.Expr:
    """Return the value of a field of a known tuple, or the tuple whose fields a tuple copies in order."""

    def source(expr: relax.Expr) -> relax.Expr:
        while isinstance(expr, relax.Var) and expr in known:
            expr = known[expr]
        return expr

    match value:
        case relax.TupleGetItem(tuple_value=whole, index=index):
            made = source(whole)
            return made.fields[index] if isinstance(made, relax.Tuple) else value
        case relax.Tuple(fields=(_, *_)):
            items = [source(expr) for expr in value.fields]
            wholes = [
                item.tuple_value for at, item in enumerate(items) if isinstance(item, relax.TupleGetItem) and item.index == at
            ]  # fmt: skip
            if len(wholes) < len(items) or any(source(whole) is not source(wholes[0]) for whole in wholes):
                return value
            info = wholes[0].struct_info
            is_all = isinstance(info, relax.TupleStructInfo) and len(info.fields) == len(items)
            return wholes[0] if is_all else value
        case _:
            return value


def _says_the_same(binding: relax.Binding) -> bool:
    known = binding.value.struct_info
    if not isinstance(binding, relax.MatchCast):
        return True
    return known is not None and structural_equal(known, binding.struct_info)


class _Renamer(BindingRewriter):
    """Applies a plan."""

    def __init__(self, plan: _Plan) -> None:
        super().__init__()
        self._plan = plan
        for var in (*plan.used, *plan.constants):
            last = _end(var, plan.used)
            self.replaced[var] = plan.constants.get(last, last)

    def block(self, block: relax.BindingBlock) -> relax.BindingBlock:
        kept = tuple([binding for binding in block.bindings if binding.var not in self._plan.gone])
        return super().block(block if len(kept) == len(block.bindings) else replace(block, bindings=kept))

    def visit(self, binding: relax.Binding) -> relax.Binding:
        new = super().visit(binding)
        var = _end(binding.var, self._plan.bound)
        if new.value is not binding.value and isinstance(new, relax.VarBinding):
            var = refined_variable(var, new.value)
            if var.struct_info is not binding.var.struct_info:
                self.replaced[binding.var] = self.replaced[_end(binding.var, self._plan.bound)] = var
        return new if var is binding.var else replace(new, var=var)


def _used_outside(body: relax.SeqExpr) -> Iterator[relax.Var]:
    """Yield the variables that are used outside of the block that binds them."""
    yield from _variables(body.body)
    for block in body.blocks:
        own = (
            {binding.var for binding in block.bindings} if isinstance(block, relax.DataflowBlock) else set[relax.Var]()
        )
        for binding in block.bindings:
            match binding.value:
                case relax.Function(body=inner):
                    yield from _used_outside(inner)
                case relax.If(cond=cond, true_branch=yes, false_branch=no):
                    yield from _variables(cond)
                    yield from _used_outside(yes)
                    yield from _used_outside(no)
                case value:
                    yield from (var for var in _variables(value) if var not in own)


def _variables(node: Node) -> Iterator[relax.Var]:
    return (below for below in walk(node) if isinstance(below, relax.Var))
