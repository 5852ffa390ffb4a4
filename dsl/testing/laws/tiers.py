"""The fast tier of the interpreter agrees with the definition: the same bits, the same faults, the same memory after a
fault.

Each example runs unchanged, on floats with NaN, infinities and zeros of both signs; with one index of an access moved
out of its buffer; and with accesses that wrap around in their buffers, so that independent iterations conflict.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from hypothesis import strategies as st
from msgspec.structs import replace

from ....ir import make, tir
from ....ir.base import IRModule, Source
from ....ir.diagnostics import TvmsError
from ....ir.dtype import is_float
from ....ir.visit import substitute, walk
from ...load import parse_source
from ..constructs import LOOP_LEVEL
from ..data import with_special_values
from ..oracle import Execute, as_module
from ..prim_funcs import prim_funcs
from .bounds import Example, copies, examples, examples_of, name_and_inputs, plant
from .law import Law, module_constructs

SAME, FAULTS, MEETING = "runs with the same bits", "faults told alike", "runs whose iterations may meet"


def _examples(file: Source | None) -> st.SearchStrategy[Example]:
    if file is not None:
        return examples(file)
    formulas = prim_funcs(stages=("formulas",), max_blocks=1, symbolic=False)
    return examples_of(st.one_of(prim_funcs(max_blocks=2), formulas).map(as_module))


def _check(example: Example, execute: Execute) -> None:
    module = parse_source(Source("example.tvms", example.module.script()))
    name, inputs = name_and_inputs(module, example.seed)
    inputs = [with_special_values(value, example.seed) for value in inputs]
    outcome = [SAME, compare_tiers(module, name, inputs, track=example.seed % 2 == 0)]
    planted = plant(module, name, inputs, example.place)
    if planted is not None:
        outcome.append(compare_tiers(planted[0], name, inputs, track=False))
    outcome.extend([MEETING, compare_tiers(_meeting(module, name, example.place), name, inputs, track=True)])
    example.outcome = tuple(filter(None, outcome))


def _meeting(module: IRModule, name: str, place: int) -> IRModule:
    """Return `module` with one or two accesses moved to other elements, near the ends of their buffer."""
    function = module.functions[name]
    assert isinstance(function, tir.PrimFunc)
    accesses = [
        node for node in walk(function.body) if isinstance(node, tir.BufferLoad | tir.BufferStore) and _is_plain(node)
    ]
    changed: dict[Any, tir.BufferLoad | tir.BufferStore] = {}
    for number in range(1 + place % 2 if accesses else 0):
        access = accesses[(place // 2 + number * 7) % len(accesses)]
        axis = place % len(access.indices)
        index, extent = access.indices[axis], access.buffer.shape[axis]
        moved = make.floormod(
            make.add(make.mul(index, make.const(1 + place % 3, index.dtype)), make.const(place % 5, index.dtype)),
            make.cast(extent, index.dtype),
        )
        changed[access] = replace(access, indices=(*access.indices[:axis], moved, *access.indices[axis + 1 :]))
    body = function.body
    for access, other in changed.items():
        body = substitute(body, {access: other})
    return IRModule({**module.functions, name: replace(function, body=body)}, name=module.name)


def _is_plain(access: tir.BufferLoad | tir.BufferStore) -> bool:
    has_elements = all(not isinstance(size, tir.IntImm) or size.value > 0 for size in access.buffer.shape)
    return bool(access.indices) and has_elements and all("x" not in index.dtype for index in access.indices)


def compare_tiers(module: IRModule, name: str, inputs: Sequence[Any], track: bool) -> str:
    """Assert that both tiers agree. Return FAULTS if they fault."""
    from ....ir.interp import run

    def outcome(tier: Any) -> tuple[str, list[Any]]:
        values = copies(inputs)
        try:
            returned = run(module, name, values, track=track, tier=tier)
        except TvmsError as problem:
            found = problem.diagnostics[0]
            return f"{found.code} {found.message} at {found.span}", values
        return "", [*values, returned]

    (expected, values), (found, others) = outcome("obvious"), outcome("lanes")
    assert found == expected, f"the fast tier reports {found or 'nothing'!r}, the definition {expected or 'nothing'!r}"
    for place, (value, other) in enumerate(zip(values, others, strict=True)):
        assert same_bits(value, other), f"argument {place} is {other}, not {value}"
    return FAULTS if expected else ""


def same_bits(a: Any, b: Any) -> bool:
    """Return whether two values are equal bit for bit. All NaNs are equal."""
    import numpy as np

    x, y = np.asarray(a), np.asarray(b)
    if x.dtype == np.object_:
        return a == b
    if x.dtype != y.dtype or x.shape != y.shape:
        return False
    if not is_float(x.dtype.name):
        return bool((x == y).all())
    nan = np.isnan(x) & np.isnan(y)
    return bool((nan | ((x == y) & (np.signbit(x) == np.signbit(y)))).all())


def _constructs(example: Example) -> Iterable[str]:
    yield from module_constructs(example.module)
    yield from example.outcome


LAW = Law(
    _examples, _check, show=lambda example: str(example.module), read=lambda source: Example(parse_source(source), 0, 0),
    constructs=_constructs, expected=LOOP_LEVEL, counted=(SAME, FAULTS, MEETING),
)  # fmt: skip
