"""The law of the IR, as named checks: each stands in the file of its family, with its codes.

The loop level: `scoping`, `dtypes`, `blocks`, `loops`, `bounds`, `races`, in the order of `loop_level`. The graph
level: `graph` (scoping), `calls` (what is called, and with what), `values` (struct info and purity).
"""

from __future__ import annotations

from ..base import IRModule, Node
from ..deep import deep
from ..diagnostics import Diagnostic
from ..relax import Function
from ..tir import PrimFunc
from .calls import check_calls
from .graph import check_function
from .loop_level import check_prim_func
from .values import check_values


@deep
def verify(node: Node) -> tuple[Diagnostic, ...]:
    """Return every breach of the law in `node`, a module or a function, in the order of the text; () where it is fine."""
    module = node if isinstance(node, IRModule) else None
    functions = tuple(module.functions.values()) if module else (node,)
    found: list[Diagnostic] = []
    for function in functions:
        if isinstance(function, Function):
            found.extend(check_function(function))
            found.extend(check_values(function, module))
        elif isinstance(function, PrimFunc):
            found.extend(check_prim_func(function))
    if module:
        found.extend(check_calls(module))
    return tuple(dict.fromkeys(sorted(found, key=lambda each: each.span.start if each.span else 0)))
