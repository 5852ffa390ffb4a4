"""Run-time safety: indices outside their buffers, sizes that are none, divisions by zero; the process lives on."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import tvms
from tvms.codegen.default_schedules import default_schedules
from tvms.codegen.target import get_target

GATHER = """
T.prim_func main(A: T.Buffer((8, 16), "float32"), J: T.Buffer((8,), "int32"), B: T.Buffer((8,), "float32")):
    for i in {kind}(8):
        with T.block("gather"):
            vi = T.axis.spatial(8, i)
            B[vi] = {value}
"""
CASES = [
    ("A[vi, J[vi]]", "A[3, {bad}] is outside the buffer: its dimension 1 has 16 elements"),
    ("A[J[vi] // 2, vi]", "A[{half}, 3] is outside the buffer: its dimension 0 has 8 elements"),
    ("A[vi, vi + J[vi]] + A[vi, vi]", "A[3, {more}] is outside the buffer: its dimension 1 has 16 elements"),
]


KINDS = [("T.serial", 16), ("T.vectorized", -4), ("T.parallel", 2**31 - 4), ("T.unroll", 16)]


@pytest.mark.parametrize(("kind", "bad"), KINDS)
@pytest.mark.parametrize("bounds", ["check", "prove"])
@pytest.mark.parametrize(("value", "said"), CASES)
def test_an_index_outside_its_buffer_is_told(kind: str, bounds: Any, bad: int, value: str, said: str) -> None:
    call = tvms.compile(tvms.parse(GATHER.format(kind=kind, value=value), "gather.tvms"), bounds=bounds)["main"]
    a, indices, b = np.ones((8, 16), "f4"), np.zeros(8, "i4"), np.zeros(8, "f4")
    for _ in range(3):
        call(a, indices, b)
    indices[3] = bad
    with pytest.raises(tvms.TvmsError) as caught:
        call(a, indices, b)
    (diagnostic,) = caught.value.diagnostics
    assert (diagnostic.code, diagnostic.span is not None and diagnostic.span.source.name) == ("E0707", "gather.tvms")
    assert diagnostic.message == said.format(bad=bad, half=bad // 2, more=bad + 3)
    indices[3] = 0
    call(a, indices, b)
    np.testing.assert_array_equal(b, 1 + ("+ A[vi, vi]" in value))


@pytest.fixture
def frequent_switches() -> Iterator[None]:
    """Let Python's threads take turns as often as possible."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("frequent_switches")
@pytest.mark.parametrize("kind", ["T.serial", "T.parallel"])
def test_a_message_shows_the_indices_of_its_own_call(kind: str) -> None:
    call = tvms.compile(tvms.parse(GATHER.format(kind=kind, value="A[vi, J[vi]]")))["main"]
    a = np.ones((8, 16), "f4")

    def messages(thread: int) -> list[str]:
        said: list[str] = []
        for number in range(200):
            indices = np.full(8, 1000 * thread + number + 16, "i4")
            with pytest.raises(tvms.TvmsError) as caught:
                call(a, indices, np.zeros(8, "f4"))
            said.append(caught.value.diagnostics[0].message)
        return said

    with ThreadPoolExecutor(8) as pool:
        for thread, said in enumerate(pool.map(messages, range(8))):
            for number, message in enumerate(said):
                rows = {f"A[{row}, {1000 * thread + number + 16}] is outside the buffer" for row in range(8)}
                assert message.partition(":")[0] in rows


def test_what_is_proven_is_not_checked() -> None:
    text = """
T.prim_func main(a: T.handle, b: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n,), "float32")
    B = T.match_buffer(b, (n + 1,), "float32")
    for i in range(n):
        with T.block("shift"):
            vi = T.axis.spatial(n, i)
            B[vi + 1] = A[vi] + T.if_then_else(vi > 0, A[vi - 1], T.float32(0))
"""
    for bounds, expected in (("prove", (3, 0)), ("check", (0, 3)), ("trust", (0, 0))):
        safety = tvms.compile(tvms.parse(text), bounds=bounds).safety["main"]
        assert (safety.proven, safety.checked) == expected


def test_sizes_that_cannot_be_had() -> None:
    text = """
T.prim_func main(n: T.int64, B: T.Buffer((1,), "float32")):
    A = T.alloc_buffer((n, n), "float32")
    for i, j in T.grid(n, n):
        A[i, j] = T.float32(1)
    B[0] = A[0, 0]
"""
    call = tvms.compile(tvms.parse(text), bounds="trust")["main"]
    b = np.zeros(1, "f4")
    for n in (-1, 2**40, 2**31):
        with pytest.raises(tvms.TvmsError) as caught:
            call(n, b)
        assert [problem.code for problem in caught.value.diagnostics] == ["E0717"]
    call(4, b)
    assert b[0] == 1


def test_the_first_negative_size_is_reported() -> None:
    text = """
T.prim_func main(n: T.int64, B: T.Buffer((1,), "int64")):
    A = T.alloc_buffer((n,), "int64")
    for i in range(n):
        A[i] = i
    C = T.alloc_buffer((n,), "int64")
    for i in range(n):
        C[i] = i
    B[0] = C[0]
"""
    mod = tvms.parse(text)
    calls = [lambda *given: tvms.ir.interp.run(mod, "main", given)]
    calls += [tvms.compile(mod, level=level, schedule=level > 0)["main"] for level in (0, 3)]
    for call in calls:
        with pytest.raises(tvms.TvmsError) as caught:
            call(-5, np.zeros(1, "int64"))
        (problem,) = caught.value.diagnostics
        assert (problem.code, problem.message) == ("E0717", "buffer 'A' has a size that is negative or too large")


def test_checks_are_a_program_like_any_other() -> None:
    from tvms.codegen.lower import guard_indices, lower_blocks
    from tvms.ir.equal import structural_equal

    function: Any = tvms.parse(GATHER.format(kind="T.serial", value=CASES[0][0])).functions["main"]
    guarded, safety = guard_indices(lower_blocks(function), "prove")
    assert str(safety) == "3 indices proven, 1 checked at run time"
    assert 'A[i, T.checked_index(J[i], "A", 1, i, J[i], 8, 16)]' in guarded.script()
    assert structural_equal(tvms.parse(guarded.script()).functions["main"], guarded)


@pytest.mark.parametrize(
    "call",
    [
        'T.checked_index(5, "A", 0, 5, 4)',
        'T.checked_position(5, "A", 4, 20, 0, 0, 5, 1)',
        'T.checked_position(5, "A", 0, -4, 0, 0, 5, 1)',
    ],
)
def test_checks_fail_alike_interpreted_and_compiled(call: str) -> None:
    from tvms.ir.interp import run

    module = tvms.parse(f"""
T.prim_func main(A: T.Buffer((8,), "int32")):
    A[{call}] = 1
""")
    compiled = tvms.compile(module, target="llvm", bounds="trust")["main"]
    said: list[str] = []
    for call_main in (lambda array: run(module, "main", [array]), compiled):
        with pytest.raises(tvms.TvmsError) as caught:
            call_main(np.zeros(8, "int32"))
        said.append(str(caught.value))
    assert said[0] == said[1]
    assert "E0707" in said[0]


def _looked_up(depth: int) -> tvms.IRModule:
    """Return a module that looks up what it looked up, `depth` times."""
    value = "0"
    for _ in range(depth):
        value = f"J[{value}, 1]"
    return tvms.parse(f"""
T.prim_func main(J: T.Buffer((8, 8), "int32"), B: T.Buffer((1,), "int32")):
    B[0] = {value}
""")


def test_checks_of_what_is_looked_up_in_turn_do_not_double() -> None:
    from tvms.codegen.lower import guard_indices

    for depth in (10, 20, 40):
        function: Any = _looked_up(depth).functions["main"]
        assert guard_indices(function, "check")[0].script().count("T.checked_index") == 2 * depth + 1
    table = np.array([[0, row + 1] + [0] * 6 for row in range(8)], "i4")
    call, found = tvms.compile(_looked_up(8), bounds="check")["main"], np.zeros(1, "i4")
    call(table, found)
    assert found[0] == 8
    with pytest.raises(tvms.TvmsError) as caught:
        tvms.compile(_looked_up(40))["main"](table, found)
    assert caught.value.diagnostics[0].message == "J[8, 1] is outside the buffer: its dimension 0 has 8 elements"


WRITTEN_SINCE = [
    "if J[0] < T.uint32(8):\n        J[0] = T.uint32(9)\n        B[J[0]] = T.float32(1)",
    "x: T.uint32 = J[0]\n    if x < T.uint32(8):\n        J[0] = T.uint32(9)\n        B[J[0]] = T.float32(1)",
    "assert J[0] < T.uint32(8), 'small'\n    J[0] = T.uint32(9)\n    B[J[0]] = T.float32(1)",
    "if J[0] < T.uint32(8):\n        for i in range(2):\n            B[J[0]] = T.float32(1)\n            J[0] = T.uint32(9)",
]


@pytest.mark.parametrize("body", WRITTEN_SINCE)
def test_what_was_written_since_is_not_taken_at_its_word(body: str) -> None:
    text = f"""
T.prim_func main(J: T.Buffer((1,), "uint32"), B: T.Buffer((8,), "float32")):
    T.func_attr({{"tir.noalias": True}})
    {body}
"""
    with pytest.raises(tvms.TvmsError) as caught:
        tvms.compile(tvms.parse(text))["main"](np.zeros(1, "u4"), np.zeros(8, "f4"))
    assert caught.value.diagnostics[0].message == "B[9] is outside the buffer: its dimension 0 has 8 elements"


def test_arguments_that_may_overlap_are_not_taken_at_their_word() -> None:
    text = """
T.prim_func main(J: T.Buffer((1,), "uint32"), B: T.Buffer((8,), "uint32"), C: T.Buffer((8,), "uint32")):
    if J[0] < T.uint32(8):
        C[0] = T.uint32(9)
        B[J[0]] = T.uint32(1)
"""
    memory = np.zeros(8, "u4")
    with pytest.raises(tvms.TvmsError) as caught:
        tvms.compile(tvms.parse(text))["main"](memory[:1], np.zeros(8, "u4"), memory)
    assert caught.value.diagnostics[0].message == "B[9] is outside the buffer: its dimension 0 has 8 elements"


def test_a_loop_that_is_over_says_nothing_of_sizes() -> None:
    text = """
T.prim_func main(A: T.Buffer((1,), "float32"), B_handle: T.handle):
    n = T.int64()
    B = T.match_buffer(B_handle, (n,))
    for i in range(n):
        with T.block("stencil"):
            vi = T.axis.spatial(n, i)
            B[vi] = T.if_then_else(0 <= vi + -1 and vi + -1 < 1, A[vi + -2], T.float32(0))
"""
    call = tvms.compile(tvms.parse(text))["main"]
    for n in (2, 17):
        with pytest.raises(tvms.TvmsError) as caught:
            call(np.zeros(1, "f4"), np.zeros(n, "f4"))
        assert caught.value.diagnostics[0].message == "A[-1] is outside the buffer: its dimension 0 has 1 elements"


MASKED = """
T.prim_func main(A: T.Buffer((4,), "float32")):
    {access}
"""
MASK = "predicate=T.Broadcast(T.bool(True), 3)"


@pytest.mark.parametrize(
    "access",
    [
        f"T.buffer_store(A, T.Broadcast(A[0], 4), [T.Ramp(0, 1, 4)], {MASK})",
        f"A.vstore([T.Ramp(0, 1, 4)], A.vload([T.Ramp(0, 1, 4)], {MASK}))",
    ],
)
def test_a_mask_has_the_lanes_of_its_access(access: str) -> None:
    module = tvms.parse(MASKED.format(access=access), "mask.tvms")
    assert [(diagnostic.code, diagnostic.message) for diagnostic in tvms.verify(module)] == [
        ("E0406", "the predicate of an access to 'A' has 3 lanes, its index 4")
    ]


def test_no_mask_of_other_lanes_reaches_llvm() -> None:
    module = tvms.parse(MASKED.format(access=f"T.buffer_store(A, T.Broadcast(A[0], 4), [T.Ramp(0, 1, 4)], {MASK})"))
    for schedule in (True, False):
        with pytest.raises(tvms.TvmsError, match="the predicate of an access to 'A' has 3 lanes, its index 4"):
            tvms.compile(module, schedule=schedule)


UNSIGNED = {
    "an index": "A[J[0]] = 1",
    "one of two": "T.decl_buffer((4, 4), 'int32', data=A.data)\n    B[J[0], J[0] - T.uint64(1)] = 1",
    "a vector": "A[T.Ramp(J[0], T.uint64(1), 4)] = T.Broadcast(1, 4)",
    "an offset": "T.decl_buffer((16,), 'int32', data=A.data, elem_offset=J[0])\n    B[3] = 1",
}


@pytest.mark.parametrize("index", [20, 2**63 - 1, 2**63, 2**64 - 3, 2**64 - 1])
@pytest.mark.parametrize("what", UNSIGNED)
def test_unsigned_indices_are_told_as_such(what: str, index: int) -> None:
    """No matter how large they are, they wrap around nowhere, and are shown as they are."""
    body = UNSIGNED[what]
    text = 'T.prim_func main(A: T.Buffer((16,), "int32"), J: T.Buffer((1,), "uint64")):\n    '
    module = tvms.parse(text + ("B = " if body.startswith("T.") else "") + body.replace("'", '"'))
    said: list[list[str]] = []
    for call in (tvms.compile(module)["main"], lambda *args: tvms.interpret(module, "main", args)):
        with pytest.raises(tvms.TvmsError) as caught:
            call(np.zeros(16, "i4"), np.array([index], "u8"))
        said.append([diagnostic.message for diagnostic in caught.value.diagnostics])
    assert said[0] == said[1]
    assert "-" not in said[0][0]


WINDOW = """
T.prim_func main(A: T.Buffer((52,), "float32"), B: T.Buffer((4, 13), "float32")):
    for i in range(4):
        V = T.Buffer((4, 4), data=A.data, strides=(13, 1), elem_offset=i * {step})
        for j in range(4):
            {body}
"""
WINDOWS = [
    ("B[i, j] = V[0, j]", 3),
    ("V[j, T.Ramp(0, 1, 4)] = T.Broadcast(T.float32(i), 4)", 3),
    ("V.vstore([j, T.Ramp(0, 1, 4)], T.Broadcast(T.float32(i), 4), predicate=T.Ramp(0, 1, 4) < T.Broadcast(i + 1, 4))", 3),
    ("V.vstore([j, T.Ramp(0, 1, 4)], T.Broadcast(T.float32(i), 4), predicate=T.Ramp(i * 4, 1, 4) < T.Broadcast(13, 4))", 4),
]  # fmt: skip
"""Accesses of windows of 4 elements in rows of 13, and the distance of the windows."""


@pytest.mark.parametrize(("body", "step"), WINDOWS)
def test_the_position_of_an_access_of_a_view_is_proven(body: str, step: int) -> None:
    safety = tvms.compile(tvms.parse(WINDOW.format(step=step, body=body)), schedule=False).safety["main"]
    assert safety.checked == 0
    assert safety.places == frozenset()


@pytest.mark.parametrize(
    ("body", "step"),
    [("V[i, 3] = T.float32(1)", 4), ("V.vstore([j, T.Ramp(0, 1, 4)], T.Broadcast(T.float32(1), 4), predicate=T.Ramp(i * 4, 1, 4) < T.Broadcast(14, 4))", 4)],
)  # fmt: skip
def test_an_access_of_a_view_one_element_beyond_its_memory_is_told(body: str, step: int) -> None:
    executable = tvms.compile(tvms.parse(WINDOW.format(step=step, body=body)), schedule=False)
    assert executable.safety["main"].places == {("V", -1)}
    with pytest.raises(tvms.TvmsError) as raised:
        executable["main"](np.zeros(52, "f4"), np.zeros((4, 13), "f4"))
    assert raised.value.diagnostics[0].code == "E0707"


CONVOLUTION = """
T.prim_func main(I: T.Buffer((8, 13, 12), "float32"), W: T.Buffer((6, 8, 3, 3), "float32"), O: T.Buffer((6, 11, 10), "float32")):
    for f, y, x, c, i, j in T.grid(6, 11, 10, 8, 3, 3):
        with T.block("conv"):
            vf, vy, vx, vc, vi, vj = T.axis.remap("SSSRRR", [f, y, x, c, i, j])
            with T.init():
                O[vf, vy, vx] = T.float32(0)
            O[vf, vy, vx] = O[vf, vy, vx] + I[vc, vy + vi, vx + vj] * W[vf, vc, vi, vj]
"""


def test_a_convolution_scheduled_in_python_needs_no_checks() -> None:
    module = tvms.IRModule({"main": tvms.parse(CONVOLUTION).functions["main"]})
    text = default_schedules(module, get_target("llvm"))["main"].text
    assert text is not None
    assert "im2col" in str(text)
    schedule = tvms.Schedule(module)
    schedule.replay(text)
    assert tvms.compile(schedule.mod).safety["main"].checked == 0
