"""Lifetimes and memory of the variables of a dataflow block (TVM: `src/relax/transform/dataflow_inplace.cc`)."""

from __future__ import annotations

from collections.abc import Iterable

from .. import relax
from ..base import Op, StructInfo
from ..purity import VIEWS, may_return_argument
from ..relax import Expr, Var
from ..variables import free_variables

OUTSIDE = -1
"""Memory of values that are defined before the block."""


def live_ranges(block: relax.BindingBlock) -> dict[Var, tuple[int, int]]:
    """Return, for each variable, the positions of the bindings that define it and that use it last.

    The first is -1 for variables that are defined before the block, the second is the number of bindings for variables
    that may be used after it. Taking a field of a tuple is not a use: the field has a life of its own.
    """
    first: dict[Var, int] = {}
    last: dict[Var, int] = {}
    for position, binding in enumerate(block.bindings):
        used = () if isinstance(binding.value, relax.TupleGetItem) else free_variables(binding.value)
        for var in used:
            if isinstance(var, Var):
                first.setdefault(var, -1)
                last[var] = position
        first[binding.var] = last[binding.var] = position
    end = len(block.bindings)
    return {var: (first[var], last[var] if isinstance(var, relax.DataflowVar) else end) for var in first}


class Aliases:
    """The memory that each variable of a block may hold, as numbers of allocations; a tuple has a number as well.

    `of` maps variables to numbers, `fields` the number of a tuple to those of its fields, and `constants` are the numbers of
    memory that outlives the block. Variables that are missing in `of` are defined before the block.
    """

    def __init__(self, block: relax.BindingBlock, inputs: Iterable[Var]) -> None:
        """`inputs` are variables whose memory is assumed to be different and not used by others."""
        self.of: dict[Var, set[int]] = {}
        self.fields: dict[int, list[set[int]]] = {}
        self.constants: set[int] = {OUTSIDE}
        self._count = 0
        for var in inputs:
            self.of[var] = {self._new(var.struct_info)}
        for binding in block.bindings:
            self.of[binding.var] = self._memory(binding.value, binding.var.struct_info)

    def _new(self, info: StructInfo | None = None) -> int:
        """Return the number of a new value; the fields of a tuple are also new values."""
        number, self._count = self._count, self._count + 1
        if isinstance(info, relax.TupleStructInfo):
            fields: list[set[int]] = []
            for field in info.fields:
                fields.append({self._new(field)})
            self.fields[number] = fields
        return number

    def _memory(self, value: Expr, info: StructInfo | None) -> set[int]:
        """Return the memory that `value`, of type `info`, may hold."""
        match value:
            case Var():
                return set(self.of.get(value, {OUTSIDE}))
            case relax.Tuple(fields=fields):
                number = self._new()
                self.fields[number] = [self._memory(field, field.struct_info) for field in fields]
                return {number}
            case relax.TupleGetItem(tuple_value=whole, index=index):
                return self._field(self._memory(whole, whole.struct_info), index)
            case relax.Call(op=Op(name=name), args=args) if name in VIEWS:
                return {self._new(info)}.union(*(self._memory(arg, arg.struct_info) for arg in args))
            case relax.Call(op=op, args=args) if may_return_argument(value):
                return self._unknown(args[1:] if isinstance(op, Op) else args, info)
            case relax.Call():
                return {self._new(info)}
            case _:
                number = self._new()
                self.constants.add(number)
                return {number}

    def _field(self, whole: set[int], index: int) -> set[int]:
        if OUTSIDE in whole:
            return {OUTSIDE}
        tuples = [self.fields[number] for number in whole if number in self.fields]
        return set[int]().union(*(fields[index] for fields in tuples if index < len(fields)))

    def _unknown(self, args: Iterable[Expr], info: StructInfo | None) -> set[int]:
        """Return the memory of the result of an unknown function: new, that of its arguments, or of their fields."""
        result = self._new(info)
        found = self.reachable([result])
        for arg in args:
            found |= self.reachable(self._memory(arg, arg.struct_info))
        for number in self.reachable([result]) & self.fields.keys():
            for field in self.fields[number]:
                field |= found
        return found

    def reachable(self, numbers: Iterable[int]) -> set[int]:
        """Return the numbers with those of all fields, and their fields."""
        found: set[int] = set()
        pending = list(numbers)
        while pending:
            number = pending.pop()
            if number not in found:
                found.add(number)
                pending += [part for field in self.fields.get(number, ()) for part in field]
        return found
