"""A valid program accesses only what it declares, and an index that was moved out of its buffer is always reported.

Each example runs twice. Unchanged, every access must be inside its buffer and inside a region that its blocks declare; in some
examples, the regions of blocks are left out of the text, so that the parser derives them.
Parsed from its text with one index of an executed access moved out of its buffer, the fault must name the line and the
indices of that access. If the index does not depend on data, the verifier must report it before the run.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from hypothesis import strategies as st
from msgspec import Struct
from msgspec.structs import replace

from ....ir import make, tir
from ....ir.base import IRModule, Source, Span
from ....ir.diagnostics import Diagnostic, TvmsError
from ....ir.interp.frame import Access
from ....ir.verify import verify
from ....ir.visit import substitute, walk
from ...load import parse_source
from ..choices import Choices, drawn
from ..constructs import LOOP_LEVEL
from ..data import copies, random_inputs
from ..oracle import Execute, as_module
from ..prim_funcs import prim_funcs
from ..smaller import loop_entry, programs_in
from .law import Law, module_constructs

_REGIONS = re.compile(r"^ *T\.(?:reads|writes)\(.*\n", re.MULTILINE)
"""Lines that declare regions."""
VALID, CAUGHT, PROVEN = "valid without an alarm", "faults caught in the run", "faults caught by the verifier"


class Example(Struct):
    """A module, the seed of its inputs, and a fault to plant."""

    module: IRModule
    seed: int
    place: int
    """Number that chooses the executed access to move, the dimension, and the side."""
    derives: bool = False
    """Whether the regions of blocks are left out of the text."""
    outcome: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The text that is parsed."""
        text = self.module.script()
        return _REGIONS.sub("", text) if self.derives else text


def examples(file: Source | None) -> st.SearchStrategy[Example]:
    """Return modules of one loop-level function, or the one in `file`."""
    return examples_of(
        prim_funcs(max_blocks=2).map(as_module) if file is None else programs_in(file, is_loop_level=True)
    )


def examples_of(modules: st.SearchStrategy[IRModule]) -> st.SearchStrategy[Example]:
    """Return examples whose modules come from a strategy."""

    def example(choose: Choices) -> Example:
        return Example(choose.draw(modules), choose.number(0, 99), choose.number(0, 999), choose.rarely(3))

    return drawn(example)


def _check(example: Example, execute: Execute) -> None:
    from ....ir.interp import Trap, run

    module = parse_source(Source("example.tvms", example.text))
    found = [diagnostic for diagnostic in verify(module) if diagnostic.severity == "error"]
    assert not found, f"a false alarm: {found[0].code} {found[0].message}"
    name, inputs = name_and_inputs(module, example.seed)
    run(module, name, copies(inputs), track=True, observer=Trap(module))
    example.outcome = (VALID,)
    planted = plant(module, name, inputs, example.place)
    if planted is None:
        return
    broken, wrong = planted
    try:
        run(broken, name, copies(inputs))
    except TvmsError as problem:
        check_told(problem.diagnostics[0], wrong)
        told = problem.diagnostics[0].message
        assert told.startswith(f"{wrong.buffer.name}["), f"the message has no indices: {told}"
        is_proven = any(
            diagnostic.code == "E0414" and _lies_in(diagnostic.span, wrong.span) for diagnostic in verify(broken)
        )
        example.outcome = (VALID, CAUGHT, PROVEN) if is_proven else (VALID, CAUGHT)
    else:
        raise AssertionError(f"{wrong} was moved out of its buffer, but no fault was reported")


def name_and_inputs(module: IRModule, seed: int, integers: tuple[int, int] = (-8, 9)) -> tuple[str, list[Any]]:
    """Return the name of the first loop-level function of a module, and arguments for it with elements from `integers`."""
    import numpy as np

    name = loop_entry(module)
    function = module.functions[name]
    assert isinstance(function, tir.PrimFunc)
    return name, random_inputs(function, np.random.default_rng(seed), integers=integers)


def plant(module: IRModule, name: str, inputs: Sequence[Any], place: int) -> tuple[IRModule, Access] | None:
    """Return `module` with one index of an executed access moved out of its buffer, and the original access.

    `place` chooses the access, the dimension and the side. Return None if no access can be moved.
    """
    from ....ir.interp import Recorder, run

    function, recorder = module.functions[name], Recorder()
    assert isinstance(function, tir.PrimFunc)
    run(module, name, copies(inputs), observer=recorder)
    # the interpreter copies the T.init of a reduction that may be empty; the original is at the same position
    # and a variable of an expression may be defined at several places, which must remain equal
    bound = {node for let in walk(function.body) if isinstance(let, tir.Let) for node in walk(let.value)}
    accesses = [node for node in walk(function.body) if isinstance(node, tir.BufferLoad | tir.BufferStore)]
    own = {access.span: access for access in accesses if access not in bound}
    touched = dict.fromkeys(own[item.access.span] for item in recorder.touched if item.access.span in own)
    reached = [node for node in touched if _can_be_moved(node)]
    if not reached:
        return None
    rest, which = divmod(place, len(reached))
    wrong, rank = reached[which], len(reached[which].indices)
    broken = _pushed_out(function, wrong, rest % rank, make.sub if rest // rank % 3 == 2 else make.add)
    return IRModule({**module.functions, name: broken}, name=module.name), wrong


def _can_be_moved(access: tir.BufferLoad | tir.BufferStore) -> bool:
    return bool(access.indices) and all("x" not in index.dtype for index in access.indices) and access.span is not None


def _pushed_out(function: tir.PrimFunc, wrong: Any, axis: int, move: Callable[..., tir.PrimExpr]) -> tir.PrimFunc:
    """Return `function` with one index of `wrong` moved by the size of its dimension."""
    moved = move(wrong.indices[axis], make.cast(wrong.buffer.shape[axis], wrong.indices[axis].dtype))
    indices = (*wrong.indices[:axis], moved, *wrong.indices[axis + 1 :])
    return replace(function, body=substitute(function.body, {wrong: replace(wrong, indices=indices)}))


def check_told(found: Diagnostic, wrong: Access) -> None:
    """Assert that `found` reports that `wrong` is outside its buffer."""
    assert found.code == "E0707", f"{found.code} instead of E0707: {found.message}"
    assert found.span == wrong.span, f"reported at another position: {found.message}"


def _lies_in(inner: Span | None, outer: Span | None) -> bool:
    return inner is not None and outer is not None and outer.start <= inner.start and inner.end <= outer.end


def _constructs(example: Example) -> Iterable[str]:
    yield from module_constructs(example.module)
    yield from example.outcome


LAW = Law(
    examples, _check, show=lambda example: example.text, read=lambda source: Example(parse_source(source), 0, 0),
    constructs=_constructs, expected=LOOP_LEVEL, counted=(VALID, CAUGHT, PROVEN),
)  # fmt: skip
