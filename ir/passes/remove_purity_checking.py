"""Allow calls with side effects in functions that are pure as a whole (TVM: `RemovePurityChecking`)."""

from __future__ import annotations

from msgspec.structs import replace

from .. import relax
from ..base import IRModule, Node, Op
from ..deep import deep
from ..purity import FORCE_PURE
from ..visit import rewrite
from .to_non_dataflow import to_non_dataflow
from .transform import declare_pass, map_functions


@declare_pass("RemovePurityChecking")
@deep
def remove_purity_checking(mod: IRModule) -> IRModule:
    """Mark pure functions so that they may contain calls with side effects, and turn pure calls into ordinary calls.

    This includes inner functions. Lowering requires it, as memory is written in place.
    """
    return map_functions(mod, relax.Function, lambda function: rewrite(function, _unchecked))


def lowered(mod: IRModule) -> IRModule:
    """Return `mod` in the form that memory passes need: without dataflow blocks and purity checks."""
    return remove_purity_checking(to_non_dataflow(mod))


def _unchecked(node: Node) -> Node | None:
    match node:
        case relax.Function(is_pure=True) if not node.attrs.get(FORCE_PURE):
            return replace(node, attrs={**node.attrs, FORCE_PURE: True})
        case relax.Call(op=Op(name="relax.call_pure_packed" | "relax.call_inplace_packed")):
            return replace(node, op=node.args[0], args=node.args[1:], attrs={})
        case relax.Call(op=Op(name="relax.invoke_pure_closure")):
            return replace(node, op=Op("relax.invoke_closure"))
        case _:
            return None
