"""What is told of a run, where a trap stops it, in which order threads run, and how loops end early."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest
import tvms
from tvms.ir import make, tir
from tvms.ir.interp import Recorder, Trap, call_prim_func, run
from tvms.ir.interp.frame import ThreadOrder

BLUR = """
T.prim_func main(A: T.Buffer((5,), "int32"), B: T.Buffer((4,), "int32")):
    for i in range(4):
        with T.block("blur"):
            vi = T.axis.spatial(4, i)
            T.reads(A[vi:vi + 2])
            T.writes(B[vi])
            B[vi] = A[vi] + A[vi + 1]
"""


def arguments() -> list[np.ndarray[Any, Any]]:
    return [np.arange(5, dtype="int32"), np.zeros(4, "int32")]


def test_every_access_is_told() -> None:
    recorder = Recorder()
    run(tvms.parse(BLUR), "main", arguments(), observer=recorder)
    told = [(touched.access.buffer.name, touched.indices, touched.is_write) for touched in recorder.touched]
    assert told[:4] == [("B", (0,), True), ("A", (0,), False), ("A", (1,), False), ("B", (1,), True)]
    assert len(told) == 12


def test_lanes_are_told_one_by_one() -> None:
    text = 'T.prim_func main(A: T.Buffer((4, 3), "int32")):\n    A[1, T.Ramp(0, 1, 3)] = T.Broadcast(7, 3)\n'
    recorder = Recorder()
    run(tvms.parse(text), "main", [np.zeros((4, 3), "int32")], observer=recorder)
    assert [touched.indices for touched in recorder.touched] == [(1, 0), (1, 1), (1, 2)]


@pytest.mark.parametrize(
    ("old", "new", "said", "place"),
    [
        ("A[vi:vi + 2]", "A[vi]", "block 'blur' reads A[1], which it does not declare", "A[vi + 1]"),
        ("T.writes(B[vi])", "T.writes(B[0])", "block 'blur' writes B[1], which it does not declare", "B[vi] = "),
    ],
)
def test_a_trap_stops_at_what_a_block_does_not_declare(old: str, new: str, said: str, place: str) -> None:
    module = tvms.parse(BLUR.replace(old, new))
    with pytest.raises(tvms.TvmsError) as caught:
        run(module, "main", arguments(), observer=Trap(module))
    (found,) = caught.value.diagnostics
    assert (found.code, found.message) == ("E0720", said)
    assert found.span is not None
    assert found.span.source.text[found.span.start :].startswith(place)


def test_a_trap_lets_a_reduction_read_what_it_writes() -> None:
    module = tvms.parse(SUM)
    total = np.zeros((), "int32")
    run(module, "main", [np.arange(5, dtype="int32"), total], observer=Trap(module), track=True)
    assert total == 10


SUM = """
T.prim_func main(A: T.Buffer((5,), "int32"), B: T.Buffer((), "int32")):
    for k in range(5):
        with T.block("sum"):
            vk = T.axis.reduce(5, k)
            with T.init():
                B[()] = 0
            B[()] = B[()] + A[vk]
"""


@pytest.mark.parametrize(("order", "last"), [("ascending", 3), ("descending", 0)])
def test_parallel_iterations_run_in_the_order_asked_for(order: ThreadOrder, last: int) -> None:
    text = 'T.prim_func main(A: T.Buffer((1,), "int32")):\n    for i in T.parallel(4):\n        A[0] = i\n'
    array = np.zeros(1, "int32")
    run(tvms.parse(text), "main", [array], thread_order=order)
    assert array[0] == last


@pytest.mark.parametrize(("jump", "expected"), [("break_loop", [1, 1, 0, 0]), ("continue_loop", [1, 1, 0, 1])])
def test_a_loop_ends_or_goes_on_early(jump: str, expected: list[int]) -> None:
    data = tir.Var("handle", "A", tir.PointerType(tir.PrimType("int32"), "global"))
    buffer, handle, i = tir.Buffer(data, "int32", (make.const(4),), "A"), tir.Var("handle", "a"), tir.Var("int32", "i")
    leave = tir.IfThenElse(make.equal(i, 2), tir.Evaluate(make.call(f"tir.{jump}", (), "int32")))
    body = tir.SeqStmt((leave, tir.BufferStore(buffer, make.const(1), (i,))))
    loop = tir.For(i, make.const(0), make.const(4), tir.ForKind.SERIAL, body)
    array = np.zeros(4, "int32")
    call_prim_func(tir.PrimFunc((handle,), loop, buffer_map={handle: buffer}), [array])
    assert array.tolist() == expected


@pytest.mark.parametrize(
    ("view", "store", "outside"),
    [
        ('(2, 3), "int32", data=N.data', "V[vi, vj] = 1", ("", "V[0, 2]")),
        ('(6,), "int32", data=N.data', "V[vi * 3 + vj] = 1", ("", "V[2]")),
        ('(2, 3), "int32", data=N.data, strides=(1, 2)', "V[vi, vj] = 1", ("V[0, 2]", "V[0, 1]")),
        ('(2, 12), "int8", data=N.data', "V[vi, vj * 4 + 3] = T.int8(1)", ("", "V[0, 11]")),
        ('(2, 3), "int32", data=N.data, elem_offset=1', "V[vi, vj] = 1", ("V[0, 2]", "V[0, 1]")),
    ],
)
def test_a_trap_compares_elements_of_memory(view: str, store: str, outside: tuple[str, str]) -> None:
    for width, element in zip((3, 2), outside, strict=True):
        module = tvms.parse(f"""
T.prim_func main(N: T.Buffer((3, 3), "int32")):
    V = T.decl_buffer({view})
    for i in range(2):
        with T.block("outer"):
            vi = T.axis.spatial(2, i)
            T.reads()
            T.writes(N[vi, 0:{width}])
            for j in range(3):
                with T.block("inner"):
                    vj = T.axis.spatial(3, j)
                    {store}
""")
        with nullcontext() if not element else pytest.raises(tvms.TvmsError) as caught:
            run(module, "main", [np.zeros((3, 3), "int32")], observer=Trap(module))
        if caught is not None:
            said = f"block 'outer' writes {element}, which it does not declare"
            assert [(found.code, found.message) for found in caught.value.diagnostics] == [("E0720", said)]
