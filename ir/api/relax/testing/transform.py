"""Passes and analyses for tests of passes (TVM: `relax.testing.transform`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from msgspec.structs import replace

from ....base import IRModule
from ....function_table import FunctionTable
from ....passes.aliases import Aliases, live_ranges
from ....passes.dataflow_use_inplace_calls import inplace_call, inplace_opportunities
from ....passes.transform import Pass, passes
from ....relax import Call, DataflowBlock, Var


def ApplyEmptyCppMutator() -> Pass:
    """Return the pass that visits every expression and changes nothing but its normal form."""
    return passes()["Normalize"]()


def dataflow_liveness_analysis(block: DataflowBlock) -> dict[Var, tuple[int, int]]:
    """Return the positions of the bindings that define each variable and that use it last.

    -1 for a definition before the block, the number of bindings for uses after it.
    """
    return live_ranges(block)


def dataflow_alias_analysis(
    block: DataflowBlock, inputs: Sequence[Var]
) -> tuple[dict[Var, set[int]], dict[int, list[set[int]]]]:
    """Return the numbers of the memory that each variable may hold, and those of the fields of each tuple.

    `inputs` are variables whose memory is assumed to be different; -1 is that of other variables from outside of the block.
    """
    aliases = Aliases(block, inputs)
    return aliases.of, aliases.fields


def dataflow_inplace_analysis(
    block: DataflowBlock, inputs: Sequence[Var], mod: IRModule
) -> tuple[list[tuple[int, set[int]]], list[tuple[int, set[int]]]]:
    """Return the bindings whose calls can write to the memory of an argument, each with the positions of these arguments.

    The first list has arguments of at least the size of the result, the second arguments of its shape.
    """
    large, exact = (
        [(position, set(args)) for position, args in found] for found in inplace_opportunities(block, inputs)
    )
    return large, exact


def dataflow_single_inplace_call(mod: IRModule, call: Call, inplace_indices: Sequence[int]) -> tuple[Call, IRModule]:
    """Return `call` as a call that writes its result to an argument, and the module with the loop function of the call."""
    table = FunctionTable(mod.functions)
    (position,) = inplace_indices
    new = cast("Call", inplace_call(call, position, table))
    return new, replace(mod, functions=table.functions)
