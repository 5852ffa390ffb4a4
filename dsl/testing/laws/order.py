"""The result of an accepted program does not depend on the order of its block instances; that of a reported one does.

Accepted programs run with their instances in random orders, T.init first, and some are compiled by default schedules. A
reported program must give another result in another order or from other initial values, unless the verifier has shown
two instances that conflict.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from hypothesis import strategies as st
from msgspec import Struct

from ....ir import tir
from ....ir.base import IRModule, Source
from ....ir.diagnostics import TvmsError
from ....ir.equal import structural_equal
from ....ir.verify import verify
from ....ir.visit import walk
from ...load import parse_source
from ..choices import weighted
from ..oracle import Execute, as_module, assert_equivalent
from ..prim_funcs import prim_funcs
from ..shuffled import run_once, shuffled
from ..smaller import programs_in
from .bounds import copies, name_and_inputs
from .law import Law, module_constructs

ACCEPTED, COMPILED = "accepted, the same in any order", "accepted, the same by default schedules"
UNWRITTEN = "accepted, reads memory that nothing has written"
SHOWN, PROVEN = "reported, another order differs", "reported, with two instances that meet"
_CODES = ("E0421", "E0423", "E0424", "E0428", "E0429")
_OTHERWISE = ("symbolic extent", "extent 0", "thread loop", "strides", "offset")
"""Features that make instances hard to enumerate, or inputs hard to compare."""
_ORDERS = 2
_VARIED, _TIED = (-8, 9), (0, 2)
"""Ranges of inputs: mostly different numbers, and mostly equal ones, whose order matters to the index of a maximum."""
_COMPILED_OF = 40


class Example(Struct):
    """A module, the seed of its inputs and orders, and its outcome."""

    module: IRModule
    seed: int
    outcome: tuple[str, ...] = ()


def _examples(file: Source | None) -> st.SearchStrategy[Example]:
    disordered = prim_funcs(["int32"], 2, without=_OTHERWISE, stages=["disordered"])
    others = prim_funcs(["int32"], 2, max_extent=6, without=_OTHERWISE)
    functions = weighted((3, disordered), (1, others)).map(as_module)
    modules = functions if file is None else programs_in(file, is_loop_level=True)
    return st.builds(Example, modules, st.integers(0, 999))


def _check(example: Example, execute: Execute) -> None:
    module, seed = example.module, example.seed
    told = verify(module, "races")
    found = [diagnostic for diagnostic in told if diagnostic.code in _CODES]
    others = [diagnostic for diagnostic in told if diagnostic.severity == "error" and diagnostic not in found]
    assert not others, f"a false alarm: {others[0].code} {others[0].message}"
    name, inputs = name_and_inputs(module, seed, _TIED if seed % 2 else _VARIED)
    expected = _result(module, name, inputs)
    orders = [_result(shuffled(module, seed + number), name, inputs) for number in range(_ORDERS)]
    differs = expected is None or any(not _are_equal(expected, order) for order in orders)
    if found:
        codes = tuple(dict.fromkeys(diagnostic.code for diagnostic in found))
        example.outcome = (SHOWN if differs else PROVEN, *codes)
        return
    if expected is None and not _updates_own_memory(module):
        example.outcome = (UNWRITTEN,)
        return
    assert not differs, "it is accepted, but another order of its instances gives another result"
    once = None if _reads_other_elements(module) else _result(run_once(module), name, inputs)
    assert once is None or expected is None or _are_equal(expected, once), (
        "it is accepted, and a loop that no axis uses repeats its updates"
    )
    example.outcome = (ACCEPTED,)
    if seed % _COMPILED_OF == _COMPILED_OF - 1:
        assert_equivalent(module, module, inputs=inputs, execute_after=execute)
        example.outcome = (ACCEPTED, COMPILED)


def _updates_own_memory(module: IRModule) -> bool:
    """Return whether a store updates an element of allocated memory. E0429 reports these, but not other reads."""
    for function in module.functions.values():
        if isinstance(function, tir.PrimFunc):
            given = set(function.buffer_map.values())
            stores = [node for node in walk(function.body) if isinstance(node, tir.BufferStore)]
            if any(_is_update(store) for store in stores if store.buffer not in given):
                return True
    return False


def _reads_other_elements(module: IRModule) -> bool:
    """Return whether a block reads other elements of a buffer that it stores to.

    A loop that repeats such a block, as a stencil in time does, computes something else than one iteration; the verifier
    leaves it alone.
    """
    blocks = [node for node in walk(module) if isinstance(node, tir.Block)]
    for block in blocks:
        stores = [node for node in walk(block) if isinstance(node, tir.BufferStore)]
        for load in walk(block):
            if isinstance(load, tir.BufferLoad) and any(
                load.buffer is store.buffer and not structural_equal(load.indices, store.indices) for store in stores
            ):
                return True
    return False


def _is_update(store: tir.BufferStore) -> bool:
    loads = (node for node in walk(store.value) if isinstance(node, tir.BufferLoad) and node.buffer is store.buffer)
    return any(structural_equal(load.indices, store.indices) for load in loads)


def _result(module: IRModule, name: str, inputs: Sequence[Any]) -> list[Any] | None:
    """Return the contents of the arguments after a run; None if it reads unwritten memory."""
    from ....ir.interp import run

    values = copies(inputs)
    try:
        run(module, name, values, track=True)
    except TvmsError:
        return None
    return values


def _are_equal(one: Sequence[Any], other: Sequence[Any] | None) -> bool:
    import numpy as np

    return other is not None and all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def _constructs(example: Example) -> Iterable[str]:
    yield from module_constructs(example.module)
    yield from example.outcome


LAW = Law(
    _examples,
    _check,
    show=lambda example: str(example.module),
    read=lambda source: Example(parse_source(source), 0),
    constructs=_constructs,
    expected=frozenset([ACCEPTED, COMPILED, SHOWN, PROVEN, "axis:scan", "LetStmt", *_CODES]),
    counted=(ACCEPTED, COMPILED, UNWRITTEN, SHOWN, PROVEN),
)
