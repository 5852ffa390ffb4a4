"""Lift inner functions to the module (TVM: `LambdaLift`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import count
from typing import TypeAlias

from msgspec.structs import replace

from .. import relax, tir
from ..base import BaseFunc, GlobalVar, IRModule, Node, Op
from ..deep import deep
from ..diagnostics import error
from ..infer import function_struct_info, infer_struct_info
from ..variables import free_variables
from ..visit import children, rewrite, substitute, walk
from .rewriter import BindingRewriter
from .transform import declare_pass

Path: TypeAlias = tuple[str, ...]
"""Path to an inner function: the function of the module, then the variables that it and its parents are bound to."""


@declare_pass("LambdaLift", opt_level=1)
@deep
def lambda_lift(mod: IRModule) -> IRModule:
    """Turn every inner function into a private function of the module, called `<function>_<inner>`.

    Captured variables become additional parameters, and the inner function becomes a closure: `R.make_closure`, called
    by `R.invoke_pure_closure` or `R.invoke_closure`. The attribute `global_symbol` of an inner function overrides its
    name.

    Raises TvmsError E0104 if the module already has a function with that name.
    """
    places = [
        place
        for name, function in mod.functions.items()
        if isinstance(function, relax.Function)
        for place in _inner_functions(function.body, (name,))
    ]
    if not places:
        return mod
    names = _names(places, set(mod.functions))
    functions: dict[str, BaseFunc] = {}
    for name, function in mod.functions.items():
        if isinstance(function, relax.Function):
            lifter = _Lifter(names)
            function = lifter.function(function)
            functions.update(lifter.lifted)
        functions[name] = function
    return replace(mod, functions=functions)


def _inner_functions(body: relax.SeqExpr, path: Path) -> Iterator[tuple[relax.Binding, Path]]:
    """Yield the bindings of inner functions in a body, recursively, with their paths."""
    for block in body.blocks:
        for binding in block.bindings:
            match binding.value:
                case relax.Function(body=inner):
                    here = (*path, binding.var.name_hint)
                    yield binding, here
                    yield from _inner_functions(inner, here)
                case relax.If(true_branch=yes, false_branch=no):
                    yield from _inner_functions(yes, path)
                    yield from _inner_functions(no, path)
                case _:
                    pass


def _names(places: list[tuple[relax.Binding, Path]], taken: set[str]) -> Mapping[relax.Var, str]:
    """Return the shortest unique name for each inner function (TVM: `LambdaNameCollector`)."""
    names: dict[relax.Var, str] = {}
    for binding, _ in places:
        symbol = binding.value.attrs.get("global_symbol") if isinstance(binding.value, relax.Function) else None
        if symbol is not None:
            if symbol in taken:
                reason = f"an inner function has the symbol '{symbol}', which a function of the module already has"
                raise error("E0104", reason, binding.var.span, "change its attribute global_symbol")
            names[binding.var] = str(symbol)
            taken.add(str(symbol))
    proposals: tuple[Callable[[Path], str], ...] = (lambda path: f"{path[0]}_{path[-1]}", "_".join)
    for propose in proposals:
        asked = Counter([propose(path) for binding, path in places if binding.var not in names])
        for binding, path in places:
            name = propose(path)
            if binding.var not in names and asked[name] == 1 and name not in taken:
                names[binding.var] = name
                taken.add(name)
    for binding, path in places:
        if binding.var not in names:
            candidates = (f"{path[0]}_{path[-1]}_{number}" for number in count())
            names[binding.var] = next(name for name in candidates if name not in taken)
            taken.add(names[binding.var])
    return names


class _Lifter(BindingRewriter):
    """Rewrites a function from the inside out: nested functions are lifted first."""

    def __init__(self, names: Mapping[relax.Var, str]) -> None:
        super().__init__()
        self.lifted: dict[str, BaseFunc] = {}
        self._names = names
        self._bound: set[relax.Var] = set()

    def binding(self, binding: relax.Binding) -> Iterable[relax.Binding]:
        """Return a binding with its function lifted, or with a call of a closure replaced by an invocation."""
        self._bound.add(binding.var)
        match binding.value:
            case relax.Function():
                return self._lift(binding, binding.value)
            case relax.Call(op=relax.Var() as callee) as call if callee in self._bound:
                return (replace(binding, value=_invoke(callee, call)),)
            case _:
                return (binding,)

    def _lift(self, binding: relax.Binding, function: relax.Function) -> Iterable[relax.Binding]:
        """Add `function` to the module; its variable is removed or bound to a closure."""
        var, name = binding.var, self._names[binding.var]
        captured: list[relax.Expr] = [free for free in free_variables(function) if isinstance(free, relax.Var)]
        captured = [expr for expr in captured if expr is not var]
        own = [
            relax.Var(expr.name_hint, struct_info=expr.struct_info) for expr in captured if isinstance(expr, relax.Var)
        ]
        inside: dict[Node, Node] = dict(zip(captured, own, strict=True))
        sizes = [
            v for v in free_variables(replace(function, params=(*function.params, *own))) if isinstance(v, tir.Var)
        ]
        if sizes:
            shape = relax.ShapeStructInfo(tuple(sizes), len(sizes))
            captured.append(relax.ShapeExpr(tuple(sizes), struct_info=shape))
            own.append(relax.Var("tir_vars", struct_info=shape))
        function = _calling_itself(function, var, name, captured)
        lifted = substitute(replace(function, params=(*function.params, *own), struct_info=None), inside)
        lifted = substitute(lifted, {node: replace(node) for node in walk(lifted) if isinstance(node, tir.Var)})
        self.lifted[name] = lifted
        callee = GlobalVar(name, struct_info=function_struct_info(lifted))
        if not captured:
            self.replaced[var] = callee
            return ()
        return (replace(binding, value=_closure(callee, captured)),)


def _calling_itself(function: relax.Function, var: relax.Var, name: str, captured: list[relax.Expr]) -> relax.Function:
    """Return `function`, bound to `var`, with recursive calls by `name` that pass on the captured variables."""
    callee = GlobalVar(name)

    def call(node: Node) -> Node | None:
        if isinstance(node, relax.Call) and node.op is var:
            return replace(node, op=callee, args=(*node.args, *captured))
        return None

    function = rewrite(function, call)
    if var not in {child for node in walk(function) for child in children(node)}:
        return function
    if not captured:
        return substitute(function, {var: callee})
    itself = replace(var)
    first = relax.BindingBlock((relax.VarBinding(itself, _closure(callee, captured)),))
    function = substitute(function, {var: itself})
    return replace(function, body=replace(function.body, blocks=(first, *function.body.blocks)))


def _closure(callee: GlobalVar, captured: list[relax.Expr]) -> relax.Call:
    call = relax.Call(Op("relax.make_closure"), (callee, relax.Tuple(tuple(captured))))
    return replace(call, struct_info=infer_struct_info(call))


def _invoke(closure: relax.Var, call: relax.Call) -> relax.Call:
    info = closure.struct_info
    is_pure = isinstance(info, relax.FuncStructInfo) and info.purity
    name = "relax.invoke_pure_closure" if is_pure else "relax.invoke_closure"
    result = infer_struct_info(call)
    args = (closure, relax.Tuple(call.args))
    return relax.Call(Op(name), args, {}, (result,), span=call.span, struct_info=result)
