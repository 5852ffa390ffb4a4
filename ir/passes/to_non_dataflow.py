"""Turn dataflow blocks into plain blocks (TVM: `ToNonDataflow`)."""

from __future__ import annotations

from itertools import chain

from msgspec.structs import replace

from .. import relax
from ..base import IRModule, Node
from ..deep import deep
from ..visit import rewrite
from .rewriter import commented_bindings
from .transform import declare_pass, map_functions


@declare_pass("ToNonDataflow")
@deep
def to_non_dataflow(mod: IRModule) -> IRModule:
    """Merge the blocks of each body into a plain block, which allows side effects, with plain variables."""
    return map_functions(mod, relax.Function, plain_blocks)


def plain_blocks(function: relax.Function) -> relax.Function:
    """Return `function` without dataflow blocks."""
    return rewrite(function, _plain)


def _plain(node: Node) -> Node | None:
    match node:
        case relax.DataflowVar():
            return relax.Var(node.name_hint, struct_info=node.struct_info, span=node.span)
        case relax.SeqExpr(blocks=blocks) if len(blocks) > 1 or any(
            isinstance(block, relax.DataflowBlock) for block in blocks
        ):
            return replace(
                node, blocks=(relax.BindingBlock(tuple(chain.from_iterable(map(commented_bindings, blocks)))),)
            )
        case _:
            return None
