"""Accesses of one memory through several buffers race, or do not, as their elements say; schedules keep their order."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
import tvms
from msgspec.structs import replace
from tvms.ir import tir
from tvms.ir.buffers import decl_buffer, may_overlap
from tvms.ir.schedule.error import ScheduleError
from tvms.ir.verify import verify

FORMS = {
    "the buffer itself": ("", "", "A[{}]", "A[{}]"),
    "rows": ('V = T.decl_buffer((4, 5), "int32", data=A.data)', "", "V[({}) // 5, ({}) % 5]", "V[({}) // 5, ({}) % 5]"),
    "an offset": ('V = T.decl_buffer((18,), "int32", data=A.data, elem_offset=2)', "", "V[{} - 2]", "V[{} - 2]"),
    "a stride": ('V = T.decl_buffer((20, 1), "int32", data=A.data, strides=(1, 7))', "", "V[{}, 0]", "V[{}, 0]"),
    "overlapping rows": ('V = T.decl_buffer((19, 2), "int32", data=A.data, strides=(1, 1))', "", "V[{} - 1, 1]", "V[{} - 1, 1]"),
    "a matched region": ("", 'M = T.match_buffer(A[2:20], (18,), "int32")', "M[{} - 2]", "A[{}]"),
    "a matched row": (
        'V = T.decl_buffer((2, 10), "int32", data=A.data)', 'M = T.match_buffer(V[0, 2:10], (8,), "int32")', "M[{} - 2]", "V[0, {}]",
    ),
    "an address": (
        'p: T.handle("int32") = T.address_of(A[2])\n    V = T.decl_buffer((18,), "int32", data=p)', "", "V[{} - 2]", "V[{} - 2]",
    ),
    "a number of bytes": (
        'p: T.handle("int32") = T.handle_add_byte_offset(A.data, 8)\n    V = T.decl_buffer((18,), "int32", data=p)', "", "V[{} - 2]",
        "V[{} - 2]",
    ),
}  # fmt: skip
"""For each way to name an element of `A`: statements before the loop, statements in the block, the element, and its region."""
INDICES = ("vi + 2", "vi + 3", "2 * vi + 2", "9 - vi")
COUNT = 4
PAIRS = list(product(INDICES, (*INDICES, "3")))


def text(form: str, written: str, read: str, loop: str = "range") -> str:
    """Return a loop that writes an element by a name, and reads an element of `A`."""
    declared, matched, place, region = FORMS[form]
    lines = [
        'T.prim_func main(A: T.Buffer((20,), "int32")):', f"    {declared}", f"    for i in {loop}({COUNT}):",
        '        with T.block("step"):', f"            vi = T.axis.spatial({COUNT}, i)", f"            T.reads(A[{read}])",
        f"            T.writes({region.replace('{}', written)})", f"            {matched}",
        f"            {place.replace('{}', written)} = A[{read}] + 1",
    ]  # fmt: skip
    return "\n".join(line for line in lines if line.strip()) + "\n"


def is_race(written: str, read: str) -> bool:
    """Whether two iterations access one element, and one of them writes it, with another value if both do."""
    steps = [[eval(index, {"vi": i}) for index in (written, read)] for i in range(COUNT)]
    pairs = [(a, b) for a, b in product(steps, steps) if a is not b]
    return any(
        store == other_load or (store == other_store and load != other_load)
        for (store, load), (other_store, other_load) in pairs
    )


@pytest.mark.parametrize("form", FORMS)
def test_races_are_found_by_every_name_of_an_element(form: str) -> None:
    for written, read in PAIRS:
        found = {item.code for item in verify(tvms.parse(text(form, written, read, "T.parallel")), "races")}
        assert ("E0419" in found) == is_race(written, read), (written, read, found)


STEPS: dict[str, Callable[[Any, Any], None]] = {
    "parallel": lambda schedule, loop: schedule.parallel(loop),
    "vectorize": lambda schedule, loop: schedule.vectorize(loop),
    "reorder": lambda schedule, loop: schedule.reorder(*schedule.split(loop, [2, 2])[::-1]),
}
ARE_COMPARED = ("the buffer itself", "a matched region")
"""Names whose regions are those of `A`, so that some of the schedules are proven to be right."""


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("step", STEPS)
def test_schedules_keep_the_order_of_accesses_by_every_name(form: str, step: str) -> None:
    applied = 0
    for written, read in PAIRS:
        module = tvms.parse(text(form, written, read))
        tvms.interpret(module, "main", [wanted := np.arange(20, dtype="int32")])
        schedule = tvms.Schedule(module)
        try:
            STEPS[step](schedule, schedule.get_loops(schedule.get_block("step"))[0])
        except ScheduleError:
            continue
        applied += 1
        assert step == "reorder" or not is_race(written, read), (written, read)
        for order in ("descending", "random"):
            tvms.interpret(schedule.mod, "main", [found := np.arange(20, dtype="int32")], thread_order=order)
            assert found.tolist() == wanted.tolist(), (written, read, order)
    assert applied < len(PAIRS)
    assert applied or form not in ARE_COMPARED


def test_strides_that_are_too_small_overlap() -> None:
    def buffer(shape: tuple[int, ...], strides: tuple[int, ...]) -> tir.Buffer:
        numbers = [tuple([tir.IntImm("int32", number) for number in item]) for item in (shape, strides)]
        return replace(decl_buffer(numbers[0], "int32"), strides=numbers[1])

    apart = [
        ((4, 3), (3, 1)),
        ((4, 3), (1, 4)),
        ((1, 3), (0, 1)),
        ((4, 3), (8, 2)),
        ((0, 3), (0, 1)),
        ((2, 3, 4), (1, 8, 2)),
    ]
    together = [((4, 3), (2, 1)), ((4,), (0,)), ((4, 3), (0, 1)), ((4, 3), (1, 1)), ((2, 3, 4), (1, 7, 2))]
    assert [may_overlap(buffer(*item)) for item in apart + together] == [False] * len(apart) + [True] * len(together)


UPDATES = {
    "a repeated update": ("t, i in T.grid(2, 4)", "{} * 3 + 1", ""),
    "a repeated minimum": ("t, i in T.grid(2, 4)", "T.min({}, vi)", ""),
    "steps that do not commute": ("i, k in T.grid(4, 3)", "{} * 2 + vk", ""),
    "a sum": ("i, k in T.grid(4, 3)", "{} + vk", ""),
    "a sum with a start": ("i, k in T.grid(4, 3)", "{} + vk", "A[vi + 2] = 0"),
    "a sum that starts elsewhere": ("i, k in T.grid(4, 3)", "{} + vk", "A[vi + 3] = 0"),
    "steps that overwrite": ("i, k in T.grid(4, 3)", "vk", "A[vi + 2] = 0"),
}
"""Loops, the new value of an element in terms of the old one, and the start."""


def update(form: str, kind: str, is_allocated: bool) -> str:
    """Return a block that updates elements of `A`, and reads the old value by a name."""
    declared, matched, place, region = FORMS[form]
    loops, value, start = UPDATES[kind]
    given, own = ("B", 'A = T.alloc_buffer((20,), "int32")') if is_allocated else ("A", "")
    lines = [
        f'T.prim_func main({given}: T.Buffer((20,), "int32")):', f"    {own}", f"    {declared}", f"    for {loops}:",
        '        with T.block("step"):', "            vi = T.axis.spatial(4, i)",
        f"            {'vk = T.axis.reduce(3, k)' if 'vk' in value else ''}",
        f"            T.reads({region.replace('{}', 'vi + 2')})", "            T.writes(A[vi + 2])", f"            {matched}",
        f"            {'with T.init():' if start else ''}", f"                {start}",
        f"            A[vi + 2] = {value.replace('{}', place.replace('{}', 'vi + 2'))}",
    ]  # fmt: skip
    return "\n".join(line for line in lines if line.strip()) + "\n"


@pytest.mark.parametrize("is_allocated", [False, True], ids=["parameter", "allocation"])
@pytest.mark.parametrize("kind", UPDATES)
@pytest.mark.parametrize("form", FORMS)
def test_updates_by_another_name(form: str, kind: str, is_allocated: bool) -> None:
    """An update counts as one, whatever name its old value is read by."""
    found, expected = (
        sorted(problem.code for problem in verify(tvms.parse(update(name, kind, is_allocated))))
        for name in (form, "the buffer itself")
    )
    assert found == expected
