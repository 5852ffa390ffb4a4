"""The same mistake in arguments gets the same message for forms, operators, primitives, passes and macros."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
import tvms
from tvms.ir.passes.transform import passes
from tvms.ir.schedule import Schedule

LOOPS = """T.macro set_twice(A, i):
    A[i] = 0.0
    A[i] = 0.0

T.prim_func f(A: T.Buffer((4,), "float32")):
    for i in range(4):
        with T.block("A"):
            vi = T.axis.spatial(4, i)
            {call}
"""
GRAPH = """R.function f(x: R.Tensor((4,), "float32")) -> R.Object:
    y = {call}
    return y
"""
SCHEDULE = LOOPS.format(call="A[vi] = 0.0") + '\nS.schedule s(f):\n    (i,) = S.get_loops("A")\n    S.{call}\n'


def read(template: str, call: str) -> None:
    tvms.parse(template.format(call=call))


def in_python(call: str) -> None:
    schedule = Schedule(tvms.parse(LOOPS.format(call="A[vi] = 0.0")))
    (i,) = schedule.get_loops("A")
    eval(call, {"split": schedule.split, "i": i})


def make_pass(call: str) -> None:
    eval(call, dict(passes()))


PLACES: dict[str, tuple[Callable[[str], None], tuple[str, str, str, str, str, str]]] = {
    "form": (lambda call: read(LOOPS, call), (
        "T.Cast", "(1, 2, 3)", "('float32', valu=1)", "('float32', dtype='int8')", "('float32')", "('float', vi)")),
    "operator": (lambda call: read(GRAPH, call), (
        "R.permute_dims", "(x, 2, 3)", "(x, axe=1)", "(x, x=x)", "()", "(x, 'a')")),
    "primitive, text": (lambda call: read(SCHEDULE, call), (
        "split", "(i, [2, 2], 1, 2, 3)", "(i, factor=1)", "(i, loop=i)", "(i)", "")),
    "primitive, Python": (in_python, (
        "split", "(i, [2, 2], 1, 2, 3)", "(i, factor=1)", "(i, loop=i)", "(i)", "(i, 'a')")),
    "pass": (make_pass, (
        "BindParams", "(1, 2, 3)", "('main', {}, param={})", "('main', func_name='main')", "('main')", "(3, {})")),
    "macro": (lambda call: read(LOOPS, call), (
        "set_twice", "(A, vi, 3)", "(A, vi, j=3)", "(A, A=A)", "(A)", "")),
}  # fmt: skip
MISTAKES = {
    "too many": r"CALLEE: expected at most \d arguments by position, got \d",
    "unknown": r"CALLEE: unknown argument '\w+'",
    "twice": r"CALLEE: argument '\w+' is given twice",
    "missing": r"CALLEE: missing argument \d, '\w+'",
    "kind": r"argument \d, '\w+' to CALLEE: expected .+, got .+",
}


@pytest.mark.parametrize("mistake", MISTAKES)
@pytest.mark.parametrize("place", PLACES)
def test_a_mistake_has_one_message(place: str, mistake: str) -> None:
    attempt, (callee, *calls) = PLACES[place]
    arguments = calls[list(MISTAKES).index(mistake)]
    if not arguments:
        assert mistake == "kind", "macros take any value, and names in a schedule have no values before it is applied"
        return
    with pytest.raises(tvms.TvmsError) as caught:
        attempt(callee + arguments)
    (found,) = caught.value.diagnostics
    assert re.fullmatch(MISTAKES[mistake].replace("CALLEE", re.escape(callee)), found.message), found.message
    assert found.help
    assert mistake == "kind" or found.code == "E0105"
