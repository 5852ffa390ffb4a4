"""Order of bindings that do not use each other's variables: in-place calls overwrite memory, and match casts bind sizes.

b = R.exp(a)                                     `b` must stay before `c`, and so must earlier accesses to this memory,
c = R.call_tir_inplace(Module.f, (a,), …, [0])   under any name; later accesses must stay after `c`.

b = R.match_cast(a, R.Shape([n]))                `c` must stay after `b`, which gives `n` its value.
c = R.call_tir(Module.f, (), R.Tensor((n,)))
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from .. import relax, tir
from ..base import GlobalVar, IRModule, Node
from ..purity import inplace_arguments, may_return_argument
from ..variables import free_variables
from ..visit import walk

_Memory: TypeAlias = frozenset[relax.Var]
"""Allocations, represented by the variables that held them first."""


class MemoryOrder:
    """Order required by in-place calls and match casts in the functions of a module."""

    def __init__(self, mod: IRModule) -> None:
        graphs = {name: function for name, function in mod.functions.items() if isinstance(function, relax.Function)}
        values = {name: [binding.value for binding in _bindings(graph)] for name, graph in graphs.items()}
        self._changing: set[str] = set()
        """Functions that overwrite memory, which may be that of their arguments."""
        while more := {name for name in values if any(map(self.written, values[name]))} - self._changing:
            self._changing |= more

    def needs(self, bindings: Sequence[relax.Binding]) -> dict[relax.Var, dict[relax.Var, None]]:
        """Return, for each variable of a block, the earlier ones that must stay before it."""
        needs = _size_order(bindings)
        touching: dict[relax.Var, dict[relax.Var, None]] = {}
        writer: dict[relax.Var, relax.Var] = {}
        for var, touched, written, _ in self._flow(bindings):
            needs.setdefault(var, {}).update({writer[variable]: None for variable in touched if variable in writer})
            for variable in written:
                needs[var] |= touching.get(variable, {})
                writer[variable] = var
            for variable in touched:
                touching.setdefault(variable, {})[var] = None
        return needs

    def overwritten(self, function: relax.Function) -> set[relax.Var]:
        """Return the variables of `function` that hold overwritten memory."""
        flow = list(self._flow(_bindings(function)))
        written = {var for _, _, memory, _ in flow for var in memory}
        return {*written, *(var for var, _, _, held in flow if held & written)}

    def _flow(self, bindings: Iterable[relax.Binding]) -> Iterator[tuple[relax.Var, _Memory, _Memory, _Memory]]:
        """Yield each variable with the memory that its value accesses, that it overwrites and that it may hold."""
        held: dict[relax.Var, _Memory] = {}
        for binding in bindings if self._changing else ():
            var, value = binding.var, binding.value
            touched, written = _held_by((value,), held), _held_by(self.written(value), held)
            held[var] = (touched if _may_hold(value) else written) | {var}
            yield var, touched, written, held[var]

    def written(self, value: relax.Expr) -> tuple[relax.Expr, ...]:
        """Return the expressions whose memory a value overwrites."""
        if isinstance(value, relax.Call) and isinstance(value.op, GlobalVar) and value.op.name_hint in self._changing:
            return value.args
        return inplace_arguments(value)


def _size_order(bindings: Sequence[relax.Binding]) -> dict[relax.Var, dict[relax.Var, None]]:
    """Return, for each variable that needs sizes of earlier match casts, the variables of these."""
    needs: dict[relax.Var, dict[relax.Var, None]] = {}
    if not any(isinstance(binding, relax.MatchCast) for binding in bindings):
        return needs
    binder: dict[tir.Var, relax.Var | None] = {}
    for binding in bindings:
        used = [node for node in free_variables(binding.value) if isinstance(node, tir.Var)]
        found = {var: None for size in used if (var := binder.setdefault(size, None)) is not None}
        if found:
            needs[binding.var] = found
        if isinstance(binding, relax.MatchCast):
            for size in walk(binding.struct_info):
                if isinstance(size, tir.Var):
                    binder.setdefault(size, binding.var)
    return needs


def _bindings(function: relax.Function) -> Iterator[relax.Binding]:
    """Yield the bindings of a function, including branches and inner functions, in textual order."""
    pending: list[relax.SeqExpr | relax.Binding] = [function.body]
    while pending:
        node = pending.pop()
        if isinstance(node, relax.SeqExpr):
            pending += [binding for block in reversed(node.blocks) for binding in reversed(block.bindings)]
            continue
        yield node
        match node.value:
            case relax.If(true_branch=one, false_branch=other):
                pending += (other, one)
            case relax.Function(body=body):
                pending.append(body)
            case _:
                pass


def _held_by(parts: Iterable[Node], held: Mapping[relax.Var, _Memory]) -> _Memory:
    """Return the memory that the variables in `parts` hold."""
    variables = [node for part in parts for node in walk(part) if isinstance(node, relax.Var)]
    return frozenset([variable for var in variables for variable in held.get(var, (var,))])


def _may_hold(value: relax.Expr) -> bool:
    """Return whether a value may be, or contain, memory that existed before."""
    return may_return_argument(value) if isinstance(value, relax.Call) else True
