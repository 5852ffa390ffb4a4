"""Merge neighboring composite functions of a library into one (TVM: `MergeCompositeFunctions`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set

from msgspec.structs import replace

from .. import relax
from ..base import GlobalVar, IRModule
from ..deep import deep
from ..infer import function_struct_info
from ..variables import with_new_variables
from ..visit import walk
from .dead_code import eliminate_dead_code
from .fuse_by_pattern import CODEGEN, COMPOSITE, CallRenamer, is_open
from .grouping import PRIMITIVE, Group, GroupFuser
from .memory_order import MemoryOrder
from .rewriter import BindingRewriter
from .to_non_dataflow import plain_blocks
from .transform import declare_pass


@declare_pass("MergeCompositeFunctions")
@deep
def merge_composite_functions(mod: IRModule) -> IRModule:
    """Merge calls of composite functions of one library into public functions with the attribute Codegen.

    A call joins the group of its operands, unless another group lies between them. Aliases join the group of their values, and
    so do tuples that are only used by their fields, and these fields. The composite functions become inner functions. Run
    it after FuseOpsByPattern without `annotate_codegen`.
    """
    libraries = {
        name: str(function.attrs[COMPOSITE]).partition(".")[0]
        for name, function in mod.functions.items()
        if isinstance(function, relax.Function) and COMPOSITE in function.attrs and CODEGEN not in function.attrs
    }
    open_names = [name for name, function in mod.functions.items() if is_open(function)]
    groups: dict[relax.Var, Group] = {}
    memory = MemoryOrder(mod)
    for name in open_names:
        function = mod[name]
        assert isinstance(function, relax.Function)
        taken_apart = _taken_apart(function)
        for block in function.body.blocks:
            if isinstance(block, relax.DataflowBlock):
                groups |= _Merger(libraries, block, memory, taken_apart).groups
    if not groups:
        return mod
    fuser = GroupFuser(mod, groups)
    changed = {name: fuser.function(mod[name]) for name in open_names}  # type: ignore[reportArgumentType]
    functions = {**fuser.functions, **changed}
    symbols = {
        name: f"{name}_{function.attrs[CODEGEN]}"
        for name, function in functions.items()
        if CODEGEN in function.attrs and name not in mod.functions
    }
    renamer = CallRenamer(symbols)
    for name in open_names:
        functions[name] = renamer.function(functions[name])  # type: ignore[reportArgumentType]
    for name, symbol in symbols.items():
        functions[symbol] = _self_contained(functions.pop(name), symbol, mod)  # type: ignore[reportArgumentType]
    return eliminate_dead_code(replace(mod, functions=functions))


class _Merger:
    """Groups of one dataflow block, and the groups that each depends on."""

    def __init__(
        self,
        libraries: Mapping[str, str],
        block: relax.DataflowBlock,
        memory: MemoryOrder,
        taken_apart: Set[relax.Var],
    ) -> None:
        self.groups: dict[relax.Var, Group] = {}
        """Groups that become functions."""
        self._taken_apart = taken_apart
        self._all: dict[relax.Var, Group] = {}
        self._needs: dict[Group, set[Group]] = {}
        kept = memory.needs(block.bindings)
        for binding in block.bindings:
            used = [node for node in walk(binding.value) if isinstance(node, relax.Var) and node in self._all]
            earlier = [*used, *kept.get(binding.var, ())]
            match binding.value:
                case relax.Call(op=GlobalVar(name_hint=name)) if name in libraries:
                    self._join(binding.var, used, earlier, libraries[name])
                case value if (group := self._with_operands(binding.var, value)) is not None:
                    group.variables.append(binding.var)
                    self.groups[binding.var] = group
                    self._add(binding.var, group, earlier)
                case _:
                    self._add(binding.var, Group([binding.var]), earlier)

    def _with_operands(self, var: relax.Var, value: relax.Expr) -> Group | None:
        """Return the group of an alias, a tuple or a field of a tuple, that of all its operands; None if it has none."""
        match value:
            case relax.Var():
                operands = (value,)
            case relax.TupleGetItem(tuple_value=relax.Var() as whole) if whole in self._taken_apart:
                operands = (whole,)
            case relax.Tuple(fields=fields) if var in self._taken_apart:
                operands = fields
            case _:
                return None
        groups = {self.groups.get(operand) for operand in operands}  # type: ignore[reportArgumentType]
        return groups.pop() if len(groups) == 1 else None

    def _join(self, var: relax.Var, used: list[relax.Var], earlier: list[relax.Var], library: str) -> None:
        """Add a call to the groups of its operands, or to a new one."""
        between = self._before(self._all[variable] for variable in earlier)
        parents = [self._all[variable] for variable in used if variable in self.groups]
        parents = [parent for parent in parents if parent.attrs[CODEGEN] == library and parent not in between]
        first, *others = list(dict.fromkeys(parents)) or [Group([], {CODEGEN: library})]
        first.variables.append(var)
        self.groups[var] = first
        self._add(var, first, earlier)
        for other in others:
            self._merge(other, first)

    def _before(self, groups: Iterable[Group]) -> set[Group]:
        """Return the groups that any of `groups` depends on, transitively."""
        found: set[Group] = set()
        pending = list(groups)
        while pending:
            more = self._needs[pending.pop()] - found
            found |= more
            pending += more
        return found

    def _add(self, var: relax.Var, group: Group, earlier: Iterable[relax.Var]) -> None:
        self._all[var] = group
        self._needs.setdefault(group, set()).update(self._all[variable] for variable in earlier)
        self._needs[group].discard(group)

    def _merge(self, group: Group, into: Group) -> None:
        into.variables += group.variables
        for var in group.variables:
            self._all[var] = self.groups[var] = into
        self._needs[into] |= self._needs.pop(group)
        for needs in self._needs.values():
            if group in needs:
                needs.remove(group)
                needs.add(into)
        self._needs[into].discard(into)


def _taken_apart(function: relax.Function) -> set[relax.Var]:
    """Return the tuples of tensors of which only fields are used, and their aliases."""
    source: dict[relax.Var, relax.Var] = {}
    apart: set[relax.Var] = set()
    whole: set[relax.Var] = set()
    for node in walk(function):
        match node:
            case relax.VarBinding(var=var, value=relax.Var() as value):
                source[var] = source.get(value, value)
            case relax.VarBinding(value=relax.TupleGetItem(tuple_value=relax.Var() as value)):
                apart.add(source.get(value, value))
            case relax.VarBinding(value=relax.If(cond=value)) | relax.SeqExpr(body=value):
                whole.update(_variables(value))
            case relax.Binding(value=value) if not isinstance(value, relax.Function):
                whole.update(_variables(value))
            case _:
                pass
    apart = {var for var in apart - {source.get(var, var) for var in whole} if _is_of_tensors(var)}
    return apart | {alias for alias, var in source.items() if var in apart}


def _variables(value: relax.Expr) -> list[relax.Var]:
    return [node for node in walk(value) if isinstance(node, relax.Var)]


def _is_of_tensors(var: relax.Var) -> bool:
    info = var.struct_info
    fields = info.fields if isinstance(info, relax.TupleStructInfo) else ()
    return bool(fields) and all(isinstance(field, relax.TensorStructInfo) for field in fields)


def _self_contained(function: relax.Function, symbol: str, mod: IRModule) -> relax.Function:
    """Return a merged function under its public name, with its composite functions as inner functions."""
    inlined = _Inliner(mod).function(plain_blocks(function))
    attrs = {key: value for key, value in inlined.attrs.items() if key != PRIMITIVE}
    return replace(inlined, attrs={**attrs, "global_symbol": symbol}, struct_info=None)


class _Inliner(BindingRewriter):
    """Binds functions of the module to variables before their first calls."""

    def __init__(self, mod: IRModule) -> None:
        super().__init__()
        self._mod = mod
        self._local: dict[str, relax.Var] = {}

    def binding(self, binding: relax.Binding) -> Iterable[relax.Binding]:
        call = binding.value
        if not (isinstance(call, relax.Call) and isinstance(call.op, GlobalVar)):
            return (binding,)
        name = call.op.name_hint
        if name in self._local:
            return (replace(binding, value=replace(call, op=self._local[name])),)
        function = self._mod.functions[name]
        assert isinstance(function, relax.Function)
        attrs = {key: value for key, value in function.attrs.items() if key != PRIMITIVE}
        inner = with_new_variables(replace(function, attrs=attrs))
        info = function_struct_info(inner)
        local = self._local[name] = relax.Var(name, struct_info=info)
        bound = relax.VarBinding(local, replace(inner, struct_info=info))
        return (bound, replace(binding, value=replace(call, op=local)))
