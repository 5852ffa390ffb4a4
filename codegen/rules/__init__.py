"""Default schedules: what the compiler makes of functions that nobody scheduled.

A rule recognises a computation and returns loops for it, tiled and vectorised, as IR like any other; or it says why it
declines, and the next one is asked. Scheduled loops are left as they are.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from ...ir import tir
from ..lower.rewriter import sequence
from ..machine import Machine
from .matmul import schedule_matmul
from .nest import Declined, Nest, read_nest

Rule = Callable[[Nest, Machine], tir.Stmt]

RULES: dict[str, Rule] = {
    "matmul": schedule_matmul,
}
"""Every rule, by name, in the order in which they are asked."""


class Decision(Struct, frozen=True):
    """What became of one block: the rule that took it, or None, and why the others declined."""

    block: str
    rule: str | None
    declined: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        reasons = "; ".join(f"{rule}: {reason}" for rule, reason in self.declined)
        return f"block '{self.block}': {self.rule or 'as it stands'}" + (f" ({reasons})" if reasons else "")


def apply_rules(func: tir.PrimFunc, machine: Machine) -> tuple[tir.PrimFunc, tuple[Decision, ...]]:
    """Return `func` with the schedules of the rules that apply, and what was decided for every block."""
    root = func.body
    if not isinstance(root, tir.BlockRealize) or root.block.iter_vars or root.block.name_hint != "root":
        return func, ()
    decisions: list[Decision] = []
    parts = root.block.body.seq if isinstance(root.block.body, tir.SeqStmt) else (root.block.body,)
    scheduled = [_schedule(part, machine, decisions) for part in parts]
    if all(new is old for new, old in zip(scheduled, parts, strict=True)):
        return func, tuple(decisions)
    body = replace(root, block=replace(root.block, body=sequence(scheduled)))
    return replace(func, body=body), tuple(decisions)


def _schedule(stmt: tir.Stmt, machine: Machine, decisions: list[Decision]) -> tir.Stmt:
    try:
        nest = read_nest(stmt)
    except Declined as problem:
        decisions.append(Decision("", None, (("all", str(problem)),)))
        return stmt
    declined: list[tuple[str, str]] = []
    for name, rule in RULES.items():
        try:
            scheduled = rule(nest, machine)
        except Declined as problem:
            declined.append((name, str(problem)))
            continue
        decisions.append(Decision(nest.name, name, tuple(declined)))
        return scheduled
    decisions.append(Decision(nest.name, None, tuple(declined)))
    return stmt
