"""GPU threads simulated on the CPU, in any order, compute what the interpreter computes."""

from __future__ import annotations

from typing import TypeAlias

from hypothesis import strategies as st
from msgspec.structs import replace

from ....ir import tir
from ....ir.base import IRModule, Source
from ....ir.jumps import BREAK, CONTINUE
from ....ir.visit import walk
from ...load import parse_source
from ..choices import weighted
from ..cooperation import cooperative_programs
from ..known_programs import known_kernels
from ..oracle import Execute, as_module, assert_equivalent, profiles
from ..prim_funcs import prim_funcs
from ..sharing import shared_reductions
from ..smaller import programs_in
from ..threads import thread_programs
from ..warpgroups import warpgroup_programs
from .law import Law, module_constructs

_Example: TypeAlias = tuple[IRModule, int]
"""A module, and the seed of its inputs."""


def _examples(file: Source | None) -> st.SearchStrategy[_Example]:
    functions = prim_funcs(max_blocks=2, without={"thread loop"}).filter(_has_no_jump)
    unbound = functions.map(as_module)  # the compiler binds them
    known = st.deferred(lambda: st.sampled_from(known_kernels()))
    drawn = weighted(
        (3, thread_programs()),
        (3, cooperative_programs()),
        (3, unbound),
        (1, shared_reductions()),
        (1, known),
        (1, warpgroup_programs()),
    )
    return st.tuples(drawn if file is None else programs_in(file), st.integers(0, 1000))


def _has_no_jump(function: tir.PrimFunc) -> bool:
    """Return whether no loop is left early: the compiler binds no loop of such a function."""
    return not any(isinstance(node, tir.Call) and node.op in (BREAK, CONTINUE) for node in walk(function))


def _check(example: _Example, execute: Execute) -> None:
    module, seed = example
    simulated = replace(module, attrs={**module.attrs, "target": "cuda -simulate=each"})
    assert_equivalent(module, simulated, seed=seed, profiles=profiles(seed), integers=(-8, 9), execute_after=execute)


LAW = Law(
    _examples,
    _check,
    show=lambda example: str(example[0]),
    read=lambda source: (parse_source(source), 0),
    constructs=lambda example: module_constructs(example[0]),
    expected=frozenset(
        [
            "AttrStmt", "Allocate", "scope:shared", "scope:local", "SizeIsSymbolic", "op:tir.tvm_storage_sync", "op:tir.atomic_add",
            "op:tir.ptx_cp_async", "op:tir.tvm_mma_sync", "op:tir.ptx_mma", "op:tir.ptx_ldmatrix", "op:tir.ptx_stmatrix", "op:tir.ptx_wgmma_mma_async",
            "op:tir.ptx_cp_async_bulk_tensor", "op:tir.ptx_wait_barrier",
        ]
    ),
)  # fmt: skip
