"""Compiled code traps where the interpreter faults: at an index that was moved out of its buffer, with the same position."""

from __future__ import annotations

from collections.abc import Iterable

from hypothesis import strategies as st

from ....ir import tir
from ....ir.base import IRModule, Source
from ....ir.diagnostics import TvmsError
from ....ir.simplify import simplify_statements
from ....ir.visit import walk
from ...load import parse_source
from ..constructs import LOOP_LEVEL
from ..oracle import Execute, as_module
from ..prim_funcs import prim_funcs
from .bounds import Example, check_told, copies, examples, examples_of, name_and_inputs, plant
from .law import Law, module_constructs

TRAPPED, UNREAD = "faults caught in the run", "accesses without an effect on the result, which are left out"


def _examples(file: Source | None) -> st.SearchStrategy[Example]:
    """Return programs without software pipelines, as a pipeline of wrong accesses does not compile."""
    if file is not None:
        return examples(file)
    return examples_of(prim_funcs(max_blocks=2, without=["software pipeline"]).map(as_module))


def _check(example: Example, execute: Execute) -> None:
    module = parse_source(Source("example.tvms", example.module.script()))
    name, inputs = name_and_inputs(module, example.seed)
    planted = plant(module, name, inputs, example.place)
    example.outcome = ()
    if planted is None:
        return
    broken, wrong = planted
    calls = execute(broken, name)
    for way, call in ({"": calls} if callable(calls) else calls).items():
        try:
            call(*copies(inputs))
        except TvmsError as problem:
            check_told(problem.diagnostics[0], wrong)
            example.outcome = (TRAPPED,)
        else:
            assert _is_unread(broken, name, wrong), (
                f"{way}: {wrong} was moved out of its buffer, but no fault was reported"
            )
            example.outcome = (UNREAD,)


def _is_unread(module: IRModule, name: str, wrong: tir.BufferLoad | tir.BufferStore) -> bool:
    """Return whether `wrong` may be removed: it stores into an allocated buffer that nothing reads, or it loads a value that
    does not matter, as in `T.max(T.min(A[i], 0), 0)`. What the simplifier removes is not read.
    """
    function = module.functions[name]
    assert isinstance(function, tir.PrimFunc)
    left = _loads(simplify_statements(function), wrong.buffer)
    if isinstance(wrong, tir.BufferLoad):
        return left < _loads(function, wrong.buffer)
    return wrong.buffer not in function.buffer_map.values() and not left


def _loads(function: tir.PrimFunc, buffer: tir.Buffer) -> int:
    """Return the number of loads of a buffer in the text of a function."""
    nodes = [node for node in walk(function) if isinstance(node, tir.BufferLoad)]
    return sum(node.buffer.name == buffer.name for node in nodes)


def _constructs(example: Example) -> Iterable[str]:
    yield from module_constructs(example.module)
    yield from example.outcome


LAW = Law(
    _examples, _check, show=lambda example: str(example.module), read=lambda source: Example(parse_source(source), 0, 0),
    constructs=_constructs, expected=LOOP_LEVEL, counted=(TRAPPED, UNREAD),
)  # fmt: skip
