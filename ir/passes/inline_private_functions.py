"""Inline private functions into their callers (TVM: `InlinePrivateFunctions`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec.structs import replace

from .. import relax, tir
from ..base import GlobalVar, IRModule, Node, StructInfo
from ..deep import deep
from ..function_table import unused_name
from ..infer import Bindings, bind_dims, infer_struct_info, replace_dims
from ..ops.dims import simplify
from ..variables import defined_variables
from ..visit import distinct, rewrite, substitute, walk
from .calls import clean_up
from .dead_code import is_public, remove_unused_functions
from .rewriter import ValueRewriter
from .transform import declare_pass


@declare_pass("InlinePrivateFunctions", opt_level=1)
@deep
def inline_private_functions(mod: IRModule) -> IRModule:
    """Inline each private graph function into its callers, and remove functions that are no longer called.

    Recursive functions are kept, and calls in dataflow blocks of functions that must not be inlined there.
    """
    private = [
        name
        for name, function in mod.functions.items()
        if isinstance(function, relax.Function) and not is_public(function)
    ]
    inlined = _Inlined(mod, private)
    functions = {name: inlined.function(name) for name in mod.functions}
    if all(functions[name] is mod.functions[name] for name in functions):
        return mod
    public = [name for name in mod.functions if name not in private]
    return clean_up(remove_unused_functions(replace(mod, functions=functions), public))


def inline_functions(function: relax.Function, callees: Mapping[str | GlobalVar, relax.Function]) -> relax.Function:
    """Return `function` with calls of `callees` inlined (TVM: `Function.inline_functions`).

    Raise ValueError if a function calls itself, also through others.
    """
    functions = {
        key.name_hint if isinstance(key, GlobalVar) else key: _with_symbol(callee, None)
        for key, callee in callees.items()
    }
    own = unused_name("main", functions)
    module = IRModule({own: _with_symbol(function, own), **functions})
    if recursive := functions.keys() - _Inlined(module, functions).usable:
        raise ValueError(f"function '{min(recursive)}' calls itself, so it cannot be inlined")
    result = inline_private_functions(module).functions[own]
    assert isinstance(result, relax.Function)
    return _with_symbol(result, function.attrs.get("global_symbol"))


def _with_symbol(function: relax.Function, symbol: str | None) -> relax.Function:
    """Return a function with another global symbol; None makes it private."""
    others = {key: value for key, value in function.attrs.items() if key != "global_symbol"}
    return replace(function, attrs={**others, **({} if symbol is None else {"global_symbol": symbol})})


class _Inlined:
    """Inlines functions of a module, callees first."""

    def __init__(self, mod: IRModule, private: Iterable[str]) -> None:
        self._mod = mod
        self._done: dict[str, Any] = {}
        self.usable = {name for name in private if not self._calls_itself(name)}

    def function(self, name: str) -> Any:
        """Return function `name` with calls of private functions inlined."""
        if name not in self._done:
            function = self._mod.functions[name]
            is_graph = isinstance(function, relax.Function)
            self._done[name] = _Inliner(function, self).function(function) if is_graph else function
        return self._done[name]

    def _calls_itself(self, name: str) -> bool:
        reached: set[str] = set()
        pending = [name]
        while pending:
            function = self._mod.functions.get(pending.pop())
            called = (
                {node.name_hint for node in walk(function) if isinstance(node, GlobalVar)} if function else set[str]()
            )
            pending += called - reached
            reached |= called
        return name in reached


class _Inliner(ValueRewriter):
    def __init__(self, function: relax.Function, inlined: _Inlined) -> None:
        super().__init__(function)
        self._inlined = inlined

    def binding(self, binding: relax.Binding) -> Iterable[relax.Binding]:
        """Return the bindings of the inlined function, followed by that of its result."""
        match binding.value:
            case relax.Call(op=GlobalVar(name_hint=name)) as call if name in self._inlined.usable:
                function = self._inlined.function(name)
                if self.in_dataflow and any(_has_own_blocks(node) for node in walk(function.body)):
                    return (binding,)
                body = _copy(function, call, self.in_dataflow)
                bindings = [item for block in body.blocks for item in block.bindings]
                return (*bindings, *super().binding(replace(binding, value=body.body)))
            case _:
                return super().binding(binding)


def _has_own_blocks(node: Node) -> bool:
    return isinstance(node, relax.If | relax.Function)


def _copy(function: relax.Function, call: relax.Call, in_dataflow: bool) -> relax.SeqExpr:
    """Return the body of a function with the arguments of a call, with new variables of one kind."""
    dims: Bindings = {}
    for param, arg in zip(function.params, call.args, strict=True):
        bind_dims(infer_struct_info(param), infer_struct_info(arg), dims)
    inner = [variable for node in distinct(function.body) for variable in defined_variables(node)]
    own = {*dims, *defined_variables(function)}
    new = {var: replace(var) for var in inner if isinstance(var, tir.Var) and var not in own}
    replaced: dict[Node, Node] = {**dims, **new, **dict(zip(function.params, call.args, strict=True))}
    kind = relax.DataflowVar if in_dataflow else relax.Var
    for node in walk(function.body):
        if isinstance(node, relax.Var) and node not in replaced:
            replaced[node] = kind(node.name_hint, struct_info=_info(node.struct_info, replaced, dims), span=node.span)
    return rewrite(substitute(function.body, replaced), _plain)


def _info(info: StructInfo | None, replaced: Mapping[Node, Node], dims: Bindings) -> StructInfo | None:
    """Return the struct info of a variable of the body, with simplified dimensions if the arguments determine some."""
    if info is None:
        return None
    known = substitute(info, replaced)
    return replace_dims(known, {}) if any(node in dims for node in walk(info)) else known


def _plain(node: Node) -> Node | None:
    match node:
        case relax.DataflowBlock():
            return relax.BindingBlock(node.bindings)
        case relax.PrimValue(value=tir.BinaryOp(dtype="int64") as value):
            return relax.PrimValue(simplify(value), span=node.span)
        case _:
            return None
