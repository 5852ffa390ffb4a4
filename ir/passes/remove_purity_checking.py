"""Let pure functions hold calls with side effects that together have none (TVM: `RemovePurityChecking`)."""

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
    """Mark pure functions so that calls with side effects may stand in them, and call what is pure like everything else.

    Inner functions too. Lowering needs it, as memory is written in place.
    """
    return map_functions(mod, relax.Function, lambda function: rewrite(function, _unchecked))


def lowered(mod: IRModule) -> IRModule:
    """Return `mod` in the form in which memory may be handled: without dataflow blocks, and unchecked."""
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
