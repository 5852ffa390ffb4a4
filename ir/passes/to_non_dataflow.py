"""Make plain blocks of dataflow blocks (TVM: `ToNonDataflow`)."""

from __future__ import annotations

from .. import relax
from ..base import IRModule, Node
from ..deep import deep
from ..visit import rewrite
from .transform import declare_pass, map_functions


@declare_pass("ToNonDataflow")
@deep
def to_non_dataflow(mod: IRModule) -> IRModule:
    """Replace dataflow blocks by plain ones, in which side effects are allowed, and their variables by plain ones."""
    return map_functions(mod, relax.Function, plain_blocks)


def plain_blocks(function: relax.Function) -> relax.Function:
    """Return `function` without dataflow blocks."""
    return rewrite(function, _plain)


def _plain(node: Node) -> Node | None:
    match node:
        case relax.DataflowVar():
            return relax.Var(node.name_hint, struct_info=node.struct_info, span=node.span)
        case relax.DataflowBlock():
            return relax.BindingBlock(node.bindings, node.trivia)
        case _:
            return None
