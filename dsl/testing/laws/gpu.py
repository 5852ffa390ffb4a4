"""GPU threads simulated on the CPU, in any order, compute what the interpreter computes."""

from __future__ import annotations

from typing import TypeAlias

from hypothesis import strategies as st
from msgspec.structs import replace

from ....ir.base import IRModule, Source
from ...load import parse_source
from ..cooperation import cooperative_programs
from ..known_programs import known_kernels
from ..oracle import Execute, as_module, assert_equivalent, profiles
from ..prim_funcs import prim_funcs
from ..sharing import shared_reductions
from ..smaller import programs_in
from ..threads import thread_programs
from .law import Law, module_constructs

_Example: TypeAlias = tuple[IRModule, int]
"""A module, and the seed of its inputs."""


def _examples(file: Source | None) -> st.SearchStrategy[_Example]:
    unbound = prim_funcs(max_blocks=2, without={"thread loop"}).map(as_module)  # the compiler binds them
    drawn = st.one_of(
        *[thread_programs(), cooperative_programs(), unbound] * 2,
        shared_reductions(),
        st.deferred(lambda: st.sampled_from(known_kernels())),
    )
    return st.tuples(drawn if file is None else programs_in(file), st.integers(0, 1000))


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
    expected=frozenset(["AttrStmt", "Allocate", "scope:shared", "scope:local", "op:tir.tvm_storage_sync", "op:tir.atomic_add"]),
)  # fmt: skip
