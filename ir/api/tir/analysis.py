"""Analyses of loop-level programs (TVM: `tvm.tir.analysis`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ... import te, tir
from ...access import detect_regions
from ...base import BaseFunc, IRModule, Node
from ...diagnostics import TvmsError
from ...equal import structural_equal
from ...variables import defined_variables, free_variables
from ...visit import walk
from ..constructor import plain_node
from .access_scopes import detect_buffer_access_lca as detect_buffer_access_lca
from .measures import OOBChecker as OOBChecker
from .measures import assert_pure_function as assert_pure_function
from .measures import calculate_allocated_bytes as calculate_allocated_bytes
from .measures import estimate_tir_flops as estimate_tir_flops
from .measures import is_pure_function as is_pure_function

_Regions = tuple[tir.BufferRegion, ...]


def expr_deep_equal(lhs: te.Value, rhs: te.Value) -> bool:
    """Whether two expressions are equal and use the same variables."""
    return structural_equal(plain_node(lhs), plain_node(rhs))


def undefined_vars(node: Any, defs: Sequence[Any] | None = None) -> list[tir.Var]:
    """Return the free variables of `node` that are not in `defs`, in the order of their first use."""
    known = set(plain_node(defs or ()))
    return [name for name in free_variables(plain_node(node)) if isinstance(name, tir.Var) and name not in known]


def verify_ssa(func: tir.PrimFunc) -> bool:
    """Whether every variable is defined once. `Let` expressions may define one repeatedly, by equal values."""
    definitions: dict[Node, Node] = {}
    for node in walk(func):
        for name in defined_variables(node):
            before = definitions.get(name)
            is_equal = (
                isinstance(before, tir.Let) and isinstance(node, tir.Let) and expr_deep_equal(before.value, node.value)
            )
            if before is not None and not is_equal:
                return False
            definitions[name] = node
    return True


def verify_well_formed(obj: IRModule | BaseFunc, assert_mode: bool = True) -> bool:
    """Whether a program is well-formed; with `assert_mode`, raise TvmsError with the errors if it is not."""
    from ...verify import verify

    found = [diagnostic for diagnostic in verify(obj) if diagnostic.severity == "error"]
    if found and assert_mode:
        raise TvmsError(tuple(found))
    return not found


def get_block_access_region(
    block: tir.Block, buffer_var_map: Mapping[Any, tir.Buffer]
) -> tuple[_Regions, _Regions, _Regions]:
    """Return the regions that a block reads, writes, and accesses through pointers, of the buffers in `buffer_var_map`."""
    return detect_regions(block, buffer_var_map.values())


def get_block_read_write_region(
    block: tir.Block, buffer_var_map: Mapping[Any, tir.Buffer]
) -> tuple[_Regions, _Regions]:
    """Return the regions that a block reads and writes; accesses through pointers count as both."""
    reads, writes, opaque = detect_regions(block, buffer_var_map.values())
    return (*reads, *opaque), (*writes, *opaque)
