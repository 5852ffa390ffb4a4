"""GPU threads simulated on the CPU, in any order, compute what the interpreter computes."""

from __future__ import annotations

from typing import TypeAlias

from hypothesis import strategies as st
from msgspec.structs import replace

from ....ir import tir
from ....ir.base import IRModule, Source
from ....ir.jumps import BREAK, CONTINUE
from ....ir.software_pipeline import is_pipeline
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
    functions = prim_funcs(max_blocks=2, without={"thread loop"}).filter(_is_bound)
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


def _is_bound(function: tir.PrimFunc) -> bool:
    """Return whether the compiler can bind the loops of a function: it binds none if one is left early, and threads need memory of known
    size for software pipelines.
    """
    nodes = list(walk(function))
    has_jump = any(isinstance(node, tir.Call) and node.op in (BREAK, CONTINUE) for node in nodes)
    has_pipeline = any(isinstance(node, tir.For) and is_pipeline(node) for node in nodes)
    buffers = [buffer for node in nodes if isinstance(node, tir.Block) for buffer in node.alloc_buffers]
    is_known = all(isinstance(size, tir.IntImm) for buffer in buffers for size in buffer.shape)
    return not has_jump and (is_known or not has_pipeline)


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
