"""Reorder the bindings of dataflow blocks (TVM: `TopologicalSort`)."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from .. import relax, tir
from ..base import IRModule, Node
from ..deep import deep
from ..diagnostics import error
from ..visit import rewrite, walk
from .memory_order import MemoryOrder
from .transform import declare_pass, map_functions

_ORDERS = ("depth-first", "breadth-first")
_DIRECTIONS = ("from-inputs", "from-outputs")


@declare_pass("TopologicalSort", opt_level=1)
@deep
def topological_sort(mod: IRModule, order: str = "depth-first", direction: str = "from-inputs") -> IRModule:
    """Order bindings as a search visits them, either from inputs to their users or from outputs to their operands.

    Raises TvmsError E0902 for an unknown order or direction.
    """
    for given, known in ((order, _ORDERS), (direction, _DIRECTIONS)):
        if given not in known:
            raise error("E0902", f"pass 'TopologicalSort': unknown option {given!r}", help=f"give {' or '.join(known)}")

    memory = MemoryOrder(mod)

    def sort(function: relax.Function) -> relax.Function:
        last_uses = {node: place for place, node in enumerate(walk(function)) if isinstance(node, relax.Var)}
        return rewrite(
            function,
            lambda node: (
                _sorted(node, function.params, memory, last_uses, order, direction)
                if isinstance(node, relax.DataflowBlock)
                else None
            ),
        )

    return map_functions(mod, relax.Function, sort)


def _sorted(
    block: relax.DataflowBlock,
    params: Sequence[relax.Var],
    memory: MemoryOrder,
    last_uses: Mapping[relax.Var, int],
    order: str,
    direction: str,
) -> relax.DataflowBlock:
    """Return a block in the order of a search. Of several operands, users or results, the first one comes first."""
    bindings = {binding.var: binding for binding in block.bindings}
    uses = used_by(block.bindings)
    for var, needed in memory.needs(block.bindings).items():
        uses[var] |= needed
    users: dict[relax.Var, dict[relax.Var, None]] = {}
    for var, used in uses.items():
        for variable in used:
            users.setdefault(variable, {})[var] = None
    if direction == "from-outputs":
        own = {var: dict.fromkeys(users.get(var, ())) for var in bindings}
        backwards = {var: dict.fromkeys(used for used in reversed(uses[var]) if used in bindings) for var in bindings}
        unused = [var for var in bindings if not own[var] and isinstance(var, relax.DataflowVar)]
        outputs = [var for var in bindings if not own[var] and var not in unused]
        starts = [*unused, *sorted(outputs, key=lambda var: last_uses[var])]
        found = _search(starts[::-1], own, backwards, order)[::-1]
    else:
        starts = [param for param in params if param in users]
        starts += [user for user in users if user not in bindings and user not in starts]
        found = _search([*starts, *[var for var in bindings if not uses[var]]], uses, users, order)
    bound = tuple([bindings[var] for var in found if var in bindings])
    return block if bound == block.bindings else replace(block, bindings=bound)


def used_by(bindings: Iterable[relax.Binding]) -> dict[relax.Var, dict[relax.Var, None]]:
    """Return, for each bound variable, the others that its value and its earlier dimensions depend on."""
    dims: dict[Node, relax.Var] = {}
    uses: dict[relax.Var, dict[relax.Var, None]] = {}
    for binding in bindings:
        parts = (binding.value, binding.var.struct_info)
        nodes = [node for part in parts if part is not None for node in walk(part)]
        needed = [dims.get(node, node) for node in nodes]
        uses[binding.var] = {node: None for node in needed if isinstance(node, relax.Var) and node is not binding.var}
        if isinstance(binding, relax.MatchCast):  # it gives the dimensions of its struct info their values
            own = (node for node in walk(binding.struct_info) if isinstance(node, tir.Var))
            dims |= {node: binding.var for node in own if node not in dims}
    return uses


def _search(
    starts: Sequence[relax.Var],
    needs: dict[relax.Var, dict[relax.Var, None]],
    leads: dict[relax.Var, dict[relax.Var, None]],
    order: str,
) -> list[relax.Var]:
    """Return the variables in the order of a search, each after its dependences."""
    found: dict[relax.Var, None] = {}
    pending = deque(starts)
    while pending:
        var = pending.popleft()
        if var in found:
            continue
        found[var] = None
        following = [later for later in leads.get(var, ()) if all(need in found for need in needs.get(later, ()))]
        if order == "depth-first":
            pending.extendleft(reversed(following))
        else:
            pending.extend(following)
    return list(found)
