"""Lowers loop functions step by step for the law `lowering`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...ir.base import IRModule

if TYPE_CHECKING:
    from ..testing.laws.lowering import Lowering

_LAST = "FlattenSignature"
"""The step after which a function no longer has the parameters that it had."""
_ALONE = (
    "Simplify", "HoistExpression", "CommonSubexprElimTIR", "ConvertForLoopsToSerial", "RemoveAssume", "RewriteUnsafeSelect",
)  # fmt: skip
"""Passes on loops that are not part of the lowering."""


def lower_in_steps(lowering: Lowering) -> dict[str, IRModule]:
    """Return the module after each step of its lowering that changes it, and after single passes, by their names."""
    from ...codegen.lower.passes import ORDER
    from ...ir.passes.transform import get_pass

    found: dict[str, IRModule] = {}

    def after(name: str, before: IRModule) -> IRModule:
        module = get_pass(name)(before)
        if module is not before:
            found[name] = module
        return module

    module = after("ApplyDefaultSchedule", lowering.module) if lowering.is_scheduled else lowering.module
    after("Simplify", module)
    for name in ORDER:
        if name == _LAST:
            break
        module = after(name, module)
        if name == "GuardIndices":
            for single in _ALONE:
                after(single, module)
    return found
