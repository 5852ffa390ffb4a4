"""Checkpoint stages: parts of a function whose values are computed again for gradients instead of being kept."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from .. import relax
from ..base import Node, Op
from ..visit import substitute, walk

_START, _END = Op("relax.grad.start_checkpoint"), Op("relax.grad.end_checkpoint")


class Stages(Struct, frozen=True):
    """A function without its marks of checkpoint stages, and what they mean."""

    function: relax.Function
    values: dict[Node, relax.Expr]
    """The values of the variables that are not kept: those computed from a mark of a start, up to marks of an end."""
    replaced: dict[Node, Node]
    """The variables that replace the marked ones."""


def find_stages(function: relax.Function) -> Stages:
    """Return the stages of a function between `R.grad.start_checkpoint` and `R.grad.end_checkpoint`."""
    inside: set[Node] = set()
    values: dict[Node, relax.Expr] = {}
    replaced: dict[Node, Node] = {}
    blocks: list[relax.BindingBlock] = []
    for block in function.body.blocks:
        kept: list[relax.Binding] = []
        for binding in block.bindings:
            op = binding.value.op if isinstance(binding.value, relax.Call) else None
            if op == _START or (op != _END and any(node in inside for node in walk(binding.value))):
                inside.add(binding.var)
            value = substitute(binding.value, replaced)
            if op in (_START, _END):
                value = value.args[0]  # type: ignore[reportAttributeAccessIssue]
                if op == _START:
                    values.pop(value, None)  # where a stage starts, the value is kept
                if isinstance(binding.var, relax.DataflowVar):
                    replaced[binding.var] = value
                    continue
            elif binding.var in inside:
                values[binding.var] = value
            kept.append(binding if value is binding.value else replace(binding, value=value))
        blocks.append(replace(block, bindings=tuple(kept)))
    if not inside:
        return Stages(function, {}, {})
    body = replace(function.body, blocks=tuple(blocks), body=substitute(function.body.body, replaced))
    return Stages(replace(function, body=body), values, replaced)
