"""Move subgraphs that match patterns to functions of their own, for libraries (TVM: `FuseOpsByPattern`)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from .. import relax
from ..base import GlobalVar, IRModule, Node
from ..deep import deep
from ..diagnostics import ArgumentValueError, Diagnostic, error
from ..dpl.pattern import Bindings, CallPattern, DFPattern, TupleGetItemPattern
from ..infer import function_struct_info
from ..visit import walk
from .grouping import PRIMITIVE, Group, GroupFuser
from .memory_order import MemoryOrder
from .rewriter import BindingRewriter
from .transform import declare_pass

COMPOSITE, CODEGEN = "Composite", "Codegen"
"""Attributes of a fused function: the name of its pattern, and the library that executes it."""


class PatternCheckContext(Struct, frozen=True, eq=False):
    """Information on a match for the check of a pattern (TVM: `PatternCheckContext`)."""

    matched_expr: relax.Call
    annotated_expr: Mapping[str, relax.Expr]
    """Expressions matched by the named parts of the pattern."""
    matched_bindings: Mapping[relax.Var, relax.Expr]
    """Bindings that would become the function."""
    var_usages: Mapping[relax.Var, Sequence[relax.Var]]
    """Users of each variable in the block."""
    value_to_bound_var: Mapping[relax.Expr, relax.Var]


class FusionPattern(Struct, frozen=True, eq=False):
    """Pattern with a name, named parts, and conditions on a match (TVM: `FusionPattern`)."""

    name: str
    pattern: DFPattern
    annotation_patterns: Mapping[str, DFPattern] = {}
    check: Callable[[PatternCheckContext], bool] | None = None
    attrs_getter: Callable[[Mapping[str, relax.Expr]], Mapping[str, Any]] | None = None


Given: TypeAlias = FusionPattern | tuple[Any, ...]


@declare_pass("FuseOpsByPattern")
@deep
def fuse_ops_by_pattern(
    mod: IRModule,
    patterns: Sequence[Given],
    bind_constants: bool = True,
    annotate_codegen: bool = False,
    entry_functions: Sequence[str] | None = None,
) -> IRModule:
    """Move each part of a dataflow block that matches one of `patterns` to a private function; earlier patterns win.

    The function has the attribute Composite, the name of the pattern. With `bind_constants`, constants become part of
    it; otherwise they are parameters. With `annotate_codegen`, it is wrapped in a public function with the attribute
    Codegen, the first part of that name: the library.

    Raises TvmsError: E0905 if the module has none of `entry_functions`, E0431 if two functions define one variable.
    """
    for name in entry_functions or ():
        if not isinstance(mod.functions.get(name), relax.Function):
            raise error(
                "E0905", f"the module has no graph function '{name}'", help="give the name of one of its functions"
            )
    _check_definitions(mod)
    for given in patterns:
        pattern = given if isinstance(given, FusionPattern) else FusionPattern(*given)
        names = entry_functions or [name for name, function in mod.functions.items() if is_open(function)]
        groups: dict[relax.Var, Group] = {}
        memory = MemoryOrder(mod)
        for name in names:
            function = mod[name]
            assert isinstance(function, relax.Function)
            for block in walk(function):
                if isinstance(block, relax.DataflowBlock):  # branches have blocks of their own
                    groups |= _Partitioner(pattern, block, memory).groups
        if groups:
            fuser = GroupFuser(mod, groups, lift_constants=not bind_constants)
            changed = {name: fuser.function(mod[name]) for name in names}  # type: ignore[reportArgumentType]
            mod = replace(mod, functions={**fuser.functions, **changed})
    return _annotate(mod) if annotate_codegen else mod


def _check_definitions(mod: IRModule) -> None:
    """Raise ArgumentValueError E0431 if two functions of the module define one variable, so that groups would be ambiguous."""
    defined: dict[relax.Var, str] = {}
    for name, function in mod.functions.items():
        for node in walk(function):
            if isinstance(node, relax.Binding) and (first := defined.setdefault(node.var, name)) != name:
                message = f"'{node.var.name_hint}' is defined in '{first}' and in '{name}'"
                help = "copy a function with tvms.relax.utils.copy_with_new_vars before adding it to the module"
                raise ArgumentValueError(Diagnostic("E0431", message, node.var.span, help))


def is_open(function: Node) -> bool:
    """Return whether it is a graph function that was not created by fusion."""
    return isinstance(function, relax.Function) and not {PRIMITIVE, COMPOSITE, CODEGEN} & function.attrs.keys()


class _Partitioner:
    """Groups of one dataflow block, from the matches of one pattern."""

    def __init__(self, pattern: FusionPattern, block: relax.DataflowBlock, memory: MemoryOrder) -> None:
        self.groups: dict[relax.Var, Group] = {}
        self._pattern, self._block = pattern, block
        self._values: Bindings = {binding.var: binding.value for binding in block.bindings}
        self._bound = {binding.value: binding.var for binding in block.bindings}
        self._uses = {binding.var: _variables(binding.value) for binding in block.bindings}
        self._users: dict[relax.Var, list[relax.Var]] = {}
        for var, used in self._uses.items():
            for variable in used:
                self._users.setdefault(variable, []).append(var)
        self._later = {var: list(users) for var, users in self._users.items()}
        for var, earlier in memory.needs(block.bindings).items():
            for variable in earlier:
                self._later.setdefault(variable, []).append(var)
        for binding in block.bindings:
            if isinstance(binding, relax.VarBinding) and isinstance(binding.value, relax.Call):
                self._try(binding.var, binding.value)

    def _try(self, var: relax.Var, call: relax.Call) -> None:
        """Form a group of the match with `call` as its last call, if there is one and it is valid."""
        found = self._pattern.pattern.extract_matched_expr(call, self._values)
        if found is None:
            return
        context = self._context(call, found)
        variables = [use for use in self._uses if use in context.matched_bindings]
        earlier = {self.groups[variable] for variable in variables if variable in self.groups}
        is_covered = all(variable in variables for group in earlier for variable in group.variables)
        if not (is_covered and self._is_convex(set(variables))):
            return
        if self._pattern.check is not None and not self._pattern.check(context):
            return
        group = Group(variables, {COMPOSITE: self._pattern.name})
        if self._pattern.attrs_getter is not None:
            group.attrs.update(self._pattern.attrs_getter(context.annotated_expr))
        self.groups |= dict.fromkeys(variables, group)

    def _context(self, call: relax.Call, found: Mapping[DFPattern, Any]) -> PatternCheckContext:
        matched = [
            value
            for pattern, value in found.items()
            if isinstance(pattern, CallPattern | TupleGetItemPattern) and value in self._bound
        ]
        named = {name: found[part] for name, part in self._pattern.annotation_patterns.items() if part in found}
        bindings = {self._bound[value]: value for value in matched}
        return PatternCheckContext(call, named, bindings, self._users, self._bound)

    def _is_convex(self, group: set[relax.Var]) -> bool:
        """Return whether no path between bindings of the group leaves it. Other groups count as single nodes."""
        after: set[relax.Var] = set()
        pending = [later for var in group for later in self._later.get(var, ()) if later not in group]
        while pending:
            var = pending.pop()
            if var in group:
                return False
            if var not in after:
                whole = self.groups[var].variables if var in self.groups else (var,)
                after.update(whole)
                pending += [later for variable in whole for later in self._later.get(variable, ())]
        return True


def _variables(value: Node) -> list[relax.Var]:
    return [node for node in walk(value) if isinstance(node, relax.Var)]


def has_leaking_intermediate_variables(context: PatternCheckContext) -> bool:
    """Return whether an intermediate value of the match is used outside of it (TVM: `relax.backend.utils`)."""
    last = context.value_to_bound_var[context.matched_expr]
    inner = [var for var in context.matched_bindings if var is not last]
    if any(not isinstance(var, relax.DataflowVar) for var in inner):
        return True
    return any(user not in context.matched_bindings for var in inner for user in context.var_usages.get(var, ()))


# --- For libraries ------------------------------------------------------------------------------------------------


def _annotate(mod: IRModule) -> IRModule:
    """Wrap each composite function, as `local_func`, in a public function that names the library."""
    wrapped: dict[str, str] = {}
    functions = dict(mod.functions)
    for name, function in mod.functions.items():
        if isinstance(function, relax.Function) and COMPOSITE in function.attrs and CODEGEN not in function.attrs:
            library = str(function.attrs[COMPOSITE]).partition(".")[0]
            wrapped[name] = symbol = f"{name}_{library}"
            del functions[name]
            functions[symbol] = _wrap(function, library, symbol)
    renamer = CallRenamer(wrapped)
    for name, function in functions.items():
        if is_open(function):
            functions[name] = renamer.function(function)  # type: ignore[reportArgumentType]
    return replace(mod, functions=functions)


def _wrap(function: relax.Function, library: str, symbol: str) -> relax.Function:
    inner = replace(function, attrs={key: value for key, value in function.attrs.items() if key != PRIMITIVE})
    inner = replace(inner, struct_info=function_struct_info(inner))
    params = tuple([relax.Var(param.name_hint, struct_info=param.struct_info) for param in function.params])
    local = relax.Var("local_func", struct_info=inner.struct_info)
    output = relax.Var("output", struct_info=function.ret_struct_info)
    call = relax.Call(local, params, struct_info=function.ret_struct_info)
    block = relax.BindingBlock((relax.VarBinding(local, inner), relax.VarBinding(output, call)))
    attrs = {CODEGEN: library, "global_symbol": symbol}
    return relax.Function(
        params, relax.SeqExpr((block,), output), function.ret_struct_info, function.is_pure, attrs=attrs
    )


class CallRenamer(BindingRewriter):
    """Replaces calls of wrapped functions by calls of their wrappers."""

    def __init__(self, names: Mapping[str, str]) -> None:
        super().__init__()
        self._names = names

    def binding(self, binding: relax.Binding) -> Iterable[relax.Binding]:
        value = binding.value
        if isinstance(value, relax.Call) and isinstance(value.op, GlobalVar) and value.op.name_hint in self._names:
            callee = GlobalVar(self._names[value.op.name_hint], struct_info=value.op.struct_info)
            return (replace(binding, value=replace(value, op=callee)),)
        return (binding,)
