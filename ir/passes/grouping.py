"""Conversion of groups of bindings to functions, for all fusion passes (TVM: `OperatorFusor`).

A group is a set of bindings of one dataflow block. It becomes a private function, called at its last binding.
Values used from outside become parameters, in order of use; values used outside become results.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from .. import relax, tir
from ..base import BaseFunc, GlobalVar, IRModule, Node, Op, StructInfo
from ..equal import structural_equal, structural_hash
from ..function_table import unused_name
from ..infer import dimensions_alone, function_struct_info, infer_struct_info
from ..variables import free_variables
from ..visit import rewrite, substitute, walk
from .memory_order import MemoryOrder

PRIMITIVE = "Primitive"
"""Attribute of a function created from a group; further passes treat it as one operator."""


class Group(Struct, eq=False):
    """Bindings that become one function, and the attributes of that function."""

    variables: list[relax.Var] = field(default_factory=list[relax.Var])
    attrs: dict[str, Any] = field(default_factory=dict[str, Any])

    @property
    def is_alone(self) -> bool:
        """Whether it is kept unchanged: a single binding without attributes for a function."""
        return len(self.variables) == 1 and not self.attrs


Groups = Mapping[relax.Var, Group]
"""Groups of the variables bound in a dataflow block; a missing variable is not grouped."""


class GroupFuser:
    """Replaces groups by calls of new functions, which are collected in `functions`."""

    def __init__(self, mod: IRModule, groups: Groups, lift_constants: bool = True) -> None:
        self.functions: dict[str, BaseFunc] = dict(mod.functions)
        self._groups, self._lift_constants, self._memory = groups, lift_constants, MemoryOrder(mod)
        self._made: dict[int, list[str]] = {}
        self._names: set[str] = set()

    def function(self, function: relax.Function) -> relax.Function:
        """Return `function` with the groups of its dataflow blocks replaced."""
        gone = {var for var, group in self._groups.items() if not group.is_alone and isinstance(var, relax.DataflowVar)}
        self._names = {node.name_hint for node in walk(function) if isinstance(node, relax.Var) and node not in gone}
        return replace(function, body=self._sequence(function.body))

    def _sequence(self, body: relax.SeqExpr) -> relax.SeqExpr:
        return replace(body, blocks=tuple([self._block(block) for block in body.blocks]))

    def _branches(self, binding: relax.Binding) -> relax.Binding:
        """Return a binding with the groups of the branches of its value replaced."""
        value = binding.value
        if not isinstance(value, relax.If):
            return binding
        branches = self._sequence(value.true_branch), self._sequence(value.false_branch)
        return replace(binding, value=replace(value, true_branch=branches[0], false_branch=branches[1]))

    def _block(self, block: relax.BindingBlock) -> relax.BindingBlock:
        if not isinstance(block, relax.DataflowBlock):
            return replace(block, bindings=tuple([self._branches(binding) for binding in block.bindings]))
        own = [self._groups[binding.var] for binding in block.bindings if binding.var in self._groups]
        if all(group.is_alone for group in own):
            return block
        bindings: list[relax.Binding] = []
        replaced: dict[Node, Node] = {}
        creators = self._collect(block)
        for binding in _in_order_of_groups(block.bindings, self._groups, self._memory):
            group = self._groups.get(binding.var)
            if group is None or group.is_alone:
                bindings.append(_substitute(binding, replaced))
                continue
            creator = creators[group]
            if creator.bindings[-1] is binding and creator.outputs:
                bindings += self._call(creator, group, replaced)
        return replace(block, bindings=tuple(bindings))

    def _collect(self, block: relax.BindingBlock) -> dict[Group, _Creator]:
        """Return the bindings of each group, and its variables that are used outside, in the order of their uses."""
        creators: dict[Group, _Creator] = {}
        for binding in block.bindings:
            group = self._groups.get(binding.var)
            if group is not None and not group.is_alone:
                creators.setdefault(group, _Creator(self._lift_constants)).append(binding)
            for used in (node for node in walk(binding.value) if isinstance(node, relax.Var)):
                producer = self._groups.get(used)
                if producer in creators and producer is not self._groups.get(binding.var):
                    creators[producer].add_output(used)
        return creators

    def _call(self, creator: _Creator, group: Group, replaced: dict[Node, Node]) -> list[relax.Binding]:
        """Return the bindings of the call of a group's function and of its results."""
        function = creator.function({**group.attrs, PRIMITIVE: True})
        name = self._add(function, creator.name)
        args = tuple([substitute(arg, replaced) for arg in creator.arguments])
        info = function.ret_struct_info
        result = substitute(info, {new: old for old, new in creator.dimensions.items()}) if info else None
        signature = function_struct_info(function)
        call = relax.Call(
            GlobalVar(name, struct_info=signature), args, struct_info=result, span=creator.bindings[-1].span
        )
        last, outputs = creator.bindings[-1], creator.outputs
        if len(outputs) == 1:
            output = outputs[0]
            if isinstance(output, relax.DataflowVar):
                replaced[outputs[0]] = output = relax.DataflowVar(self._name("lv"), struct_info=output.struct_info)
            return [relax.VarBinding(output, call, span=last.span, trivia=last.trivia)]
        whole = relax.DataflowVar(self._name("lv"), struct_info=result)
        own = [binding.var for binding in creator.bindings if binding.var in outputs]
        items = [relax.TupleGetItem(whole, outputs.index(var), struct_info=var.struct_info) for var in own]
        made = [relax.VarBinding(var, item) for var, item in zip(own, items, strict=True)]
        return [relax.VarBinding(whole, call, span=last.span, trivia=last.trivia), *made]

    def _name(self, hint: str) -> str:
        """Return a name that no variable of the function has."""
        name = unused_name(hint, self._names)
        self._names.add(name)
        return name

    def _add(self, function: relax.Function, hint: str) -> str:
        """Add a function under a unique name, or reuse an equal one; return the name."""
        alike = self._made.setdefault(structural_hash(function), [])
        for name in alike:
            if structural_equal(self.functions[name], function):
                return name
        name = unused_name(hint, self.functions)
        self.functions[name] = function
        alike.append(name)
        return name


class _Creator:
    """Collects the bindings of one group and creates its function."""

    def __init__(self, lift_constants: bool) -> None:
        self.bindings: list[relax.Binding] = []
        self.arguments: list[relax.Expr] = []
        self.outputs: list[relax.Var] = []
        self.name = "fused"
        self.dimensions: dict[tir.Var, tir.Var] = {}
        self._params: list[relax.Var] = []
        self._lift_constants = lift_constants
        self._constants = 0

    def append(self, binding: relax.Binding) -> None:
        """Add a binding; values that it uses from outside become parameters."""
        value = binding.value
        if isinstance(value, relax.Call):
            self.name += f"_{_callee_name(value)}"
            for arg in _operands(value):
                self._use(arg)
        elif isinstance(value, relax.TupleGetItem):
            self._use(value.tuple_value)
        self.bindings.append(binding)
        if not isinstance(binding.var, relax.DataflowVar):
            self.add_output(binding.var)

    def add_output(self, var: relax.Var) -> None:
        """Make `var` a result of the function."""
        if var not in self.outputs:
            self.outputs.append(var)

    def _use(self, expr: relax.Expr) -> None:
        if isinstance(expr, relax.Tuple):
            for part in expr.fields:
                self._use(part)
            return
        is_inner = any(expr is binding.var for binding in self.bindings)
        is_kept = isinstance(expr, relax.Constant) and not self._lift_constants
        if is_inner or is_kept or any(expr is known for known in self.arguments) or _is_closed(expr):
            return
        if isinstance(expr, relax.Var):
            name = expr.name_hint
        else:
            name, self._constants = f"param_{self._constants}", self._constants + 1
        self.arguments.append(expr)
        self._params.append(relax.Var(name, struct_info=_closed(infer_struct_info(expr))))

    def function(self, attrs: dict[str, Any]) -> relax.Function:
        """Return the function, with new variables and symbolic dimensions."""
        params, replaced = list(self._params), dict[Node, Node](zip(self.arguments, self._params, strict=True))
        bindings: list[relax.Binding] = []
        for binding in self.bindings:
            var = binding.var
            is_output = any(var is output for output in self.outputs)
            known = None if var.struct_info is None else _closed(var.struct_info)
            own = relax.DataflowVar(var.name_hint, struct_info=known)
            if is_output:
                name = "gv" if len(self.outputs) == 1 else var.name_hint
                own = relax.Var(name, struct_info=known)
            replaced[var] = own
            bindings.append(replace(_substitute(binding, replaced), var=own))
        results = [replaced[output] for output in self.outputs]
        assert all(isinstance(result, relax.Var) for result in results)
        infos = tuple([_closed(infer_struct_info(output)) for output in self.outputs])
        info: StructInfo = infos[0] if len(infos) == 1 else relax.TupleStructInfo(infos)
        value = results[0] if len(results) == 1 else relax.Tuple(tuple(results), struct_info=info)  # type: ignore[reportArgumentType]
        body = relax.SeqExpr((relax.DataflowBlock(tuple(bindings)),), value, struct_info=info)  # type: ignore[reportArgumentType]
        function = relax.Function(tuple(params), body, info, attrs=attrs)
        unbound = _unbound(function)
        if unbound:
            shape = relax.ShapeStructInfo(unbound, len(unbound))
            function = replace(function, params=(*params, relax.Var("tir_vars", struct_info=shape)))
            self.arguments.append(relax.ShapeExpr(unbound, struct_info=shape))
        self.dimensions = {node: replace(node) for node in walk(function) if isinstance(node, tir.Var)}
        return substitute(function, self.dimensions)


def _closed(info: StructInfo) -> StructInfo:
    """Return struct info without shapes held by variables, which are not visible in the function."""

    def forgotten(node: Node) -> Node | None:
        is_held = isinstance(node, relax.TensorStructInfo) and isinstance(node.shape, relax.Var)
        return replace(node, shape=None) if is_held else None

    return rewrite(info, forgotten)


def _unbound(function: relax.Function) -> tuple[tir.Var, ...]:
    """Return the dimensions that no parameter determines, ignoring the signatures of callees."""
    infos = [param.struct_info for param in function.params if param.struct_info is not None]
    alone = {var for info in infos for var in dimensions_alone(info)}
    used = [node for info in infos for node in walk(info) if isinstance(node, tir.Var) and node not in alone]
    own = rewrite(function, lambda node: replace(node, struct_info=None) if isinstance(node, GlobalVar) else None)
    return tuple(dict.fromkeys([*used, *(var for var in free_variables(own) if isinstance(var, tir.Var))]))


def _callee_name(call: relax.Call) -> str:
    match call.op:
        case Op(name="relax.call_tir" | "relax.call_tir_inplace"):
            target = call.args[0]
            return target.name_hint if isinstance(target, GlobalVar) else "call_tir"
        case Op(name=name):
            return name.replace(".", "_")
        case GlobalVar(name_hint=name):
            return name.removeprefix("fused_")
        case _:
            return "call"


def _operands(call: relax.Call) -> Sequence[relax.Expr]:
    """Return the tensor operands of a `call_tir`, without its scalars, or else the arguments of the call."""
    is_tir = isinstance(call.op, Op) and call.op.name in ("relax.call_tir", "relax.call_tir_inplace")
    return call.args[1:2] if is_tir else call.args


def _is_closed(expr: relax.Expr) -> bool:
    """Return whether it is a literal without variables, which need not become a parameter."""
    if isinstance(expr, relax.ShapeExpr | relax.PrimValue):
        return not free_variables(expr)
    return isinstance(expr, relax.StringImm | relax.DataTypeImm | relax.ExternFunc | GlobalVar)


def _substitute(binding: relax.Binding, replaced: Mapping[Node, Node]) -> relax.Binding:
    value = substitute(binding.value, replaced)
    return binding if value is binding.value else replace(binding, value=value)


def _in_order_of_groups(bindings: Sequence[relax.Binding], groups: Groups, memory: MemoryOrder) -> list[relax.Binding]:
    """Return the bindings reordered so that all operands of a group precede its last binding."""
    by_group: dict[Group, list[relax.Binding]] = {}
    own = {binding.var: groups.get(binding.var) or Group([binding.var]) for binding in bindings}
    needs: dict[Group, dict[Group, None]] = {}
    kept = memory.needs(bindings)
    for binding in bindings:
        group = own[binding.var]
        by_group.setdefault(group, []).append(binding)
        variables = [node for node in walk(binding.value) if isinstance(node, relax.Var)]
        used = (own.get(var) for var in (*variables, *kept.get(binding.var, ())))
        needs.setdefault(group, {}).update(dict.fromkeys(item for item in used if item not in (None, group)))  # type: ignore[reportArgumentType]
    ordered: list[relax.Binding] = []
    done: set[Group] = set()
    for start in by_group:
        stack: list[tuple[Group, bool]] = [(start, False)]
        while stack:
            group, is_left = stack.pop()
            if is_left:
                ordered += by_group[group]
            elif group not in done:
                done.add(group)
                stack.append((group, True))
                stack += [(need, False) for need in reversed(needs[group])]
    return ordered
