"""The engine of the debugger: the law of `tvms fuzz debugger` for more kinds of programs, and the limits of the record."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tvms.dsl.debugger.breakpoints import Breakpoint, Watch
from tvms.dsl.debugger.motions import Motion
from tvms.dsl.debugger.session import Exited, Options, Output, Session, Stopped
from tvms.dsl.debugger.timeline import Timeline
from tvms.dsl.load import parse, parse_source
from tvms.dsl.testing.data import random_inputs
from tvms.dsl.testing.graphs import graph_functions
from tvms.dsl.testing.laws.debugger import LAW, check
from tvms.dsl.testing.oracle import as_module, interpreted
from tvms.ir.base import IRModule, Source
from tvms.ir.passes.transform import get_pass

EXAMPLES = 15 * int(os.environ.get("TVMS_FUZZ", "1"))

VECTOR = """\
T.prim_func main(A: T.Buffer((8,), "int32")):
    for i in range(3):
        A[T.Broadcast(i, 4)] = T.Ramp(A[0], 1, 4)
        A[T.Ramp(i, 2, 3)] = A[T.Ramp(1, 1, 3)] + T.Broadcast(i, 3)
"""
"""Stores whose lanes write the same element: going back restores the overwritten values in reverse order."""
THREADS = """\
T.prim_func main(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
    shared = T.alloc_buffer((4,), scope="shared")
    for t in T.thread_binding(4, thread="threadIdx.x"):
        with T.block("move"):
            vt = T.axis.spatial(4, t)
            shared[vt] = A[vt]
            T.tvm_storage_sync("shared")
            B[vt] = shared[3 - vt] * T.float32(2)
"""
ATOMIC = """\
T.prim_func main(A: T.Buffer((4,), "int32"), B: T.Buffer((2,), "int32")):
    for i in T.parallel(4):
        T.evaluate(T.call_intrin("int32", "tir.atomic_add", T.address_of(B[i % 2]), A[i]))
"""
FRAGMENTS = """\
T.prim_func main(A: T.Buffer((16, 16), "float16"), B: T.Buffer((16, 16), "float16"), C: T.Buffer((16, 16), "float32")):
    for i in T.thread_binding(1, thread="blockIdx.x"):
        with T.block("whole"):
            a = T.alloc_buffer((16, 16), "float16", scope="wmma.matrix_a")
            b = T.alloc_buffer((16, 16), "float16", scope="wmma.matrix_b")
            c = T.alloc_buffer((16, 16), "float32", scope="wmma.accumulator")
            T.tvm_fill_fragment(c.data, 16, 16, 16, 0, T.float32(1))
            T.tvm_load_matrix_sync(a.data, 16, 16, 16, 0, A.access_ptr("r"), 16, "row_major")
            T.tvm_load_matrix_sync(b.data, 16, 16, 16, 0, B.access_ptr("r"), 16, "col_major")
            T.tvm_mma_sync(c.data, 0, a.data, 0, b.data, 0, c.data, 0)
            T.tvm_store_matrix_sync(c.data, 16, 16, 16, 0, C.access_ptr("w"), 16, "col_major")
"""
CALLS = """\
I.ir_module Module:
    T.prim_func(private=True) twice(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            B[i] = A[i] * T.float32(2)

    R.function(private=True) inner(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        cls = Module
        y = R.call_tir(cls.twice, (x,), out_sinfo=R.Tensor((4,), "float32"))
        return y

    R.function main(x: R.Tensor((4,), "float32"), c: R.Tensor((), "bool")) -> R.Tensor((4,), "float32"):
        cls = Module
        a = cls.inner(x)
        if c:
            b = cls.inner(a)
            r = b
        else:
            d = R.negative(a)
            r = d
        s = R.call_tir_inplace(cls.twice_inplace, (r,), inplace_indices=[0], out_sinfo=R.Tensor((4,), "float32"))
        return s

    T.prim_func(private=True) twice_inplace(A: T.Buffer((4,), "float32")):
        for i in range(4):
            A[i] = A[i] * T.float32(2)
"""


@settings(max_examples=EXAMPLES, deadline=None)
@given(LAW.examples(None))
def test_random_loop_functions_obey_the_law(example: Any) -> None:
    LAW.check(example, interpreted)


@settings(max_examples=EXAMPLES, deadline=None)
@given(graph_functions(), st.integers(0, 999), st.booleans())
def test_random_graphs_obey_the_law(function: Any, seed: int, legalize: bool) -> None:
    module: IRModule = as_module(function)
    module = parse_source(Source("graph.tvms", (get_pass("LegalizeOps")(module) if legalize else module).script()))
    (name,) = [name for name, other in module.functions.items() if type(other) is type(function)]
    check(module, name, random_inputs(module.functions[name], np.random.default_rng(seed)), seed)


@pytest.mark.parametrize(
    "text", [VECTOR, THREADS, ATOMIC, FRAGMENTS, CALLS], ids=["vector", "threads", "atomic", "fragments", "calls"]
)
def test_programs_with_rare_writes_obey_the_law(text: str) -> None:
    module = parse(text)
    for seed in range(20):
        inputs = random_inputs(module.functions["main"], np.random.default_rng(seed))
        check(module, "main", inputs, seed)


def stops(session: Session, motion: Motion, most: int = 1000) -> list[Stopped]:
    """Run to the end, with `motion` after each stop."""
    session.start(motion)
    found: list[Stopped] = []
    while not isinstance(event := session.events.get(timeout=120), Exited):
        if isinstance(event, Stopped):
            found.append(event)
            session.resume(Motion(motion.kind, session.timeline.shown))
        assert len(found) < most
    return found


def test_an_external_function_is_undone() -> None:
    text = """\
T.prim_func main(A: T.Buffer((4,), "float32")):
    A[0] = T.float32(1)
    T.call_packed("test.debugger.fill", A)
    A[1] = T.float32(2)
"""
    import tvms

    def fill(array: Any) -> None:
        np.asarray(array)[...] = 7

    tvms.register_func("test.debugger.fill", fill, override=True)
    values = np.zeros(4, np.float32)
    session = Session(parse(text), "main", [values])
    session.start(Motion("into"))
    session.breakpoints.set([Breakpoint(1, "<string>", 4)])
    session.events.get(timeout=120)
    session.resume(Motion("continue", session.timeline.shown))
    session.events.get(timeout=120)
    assert values.tolist() == [7, 7, 7, 7]
    session.back(Motion("over", session.timeline.shown))
    session.events.get(timeout=120)
    assert values.tolist() == [1, 0, 0, 0]
    session.end()


def test_a_watch_sees_writes_through_other_names() -> None:
    text = """\
T.prim_func main(A: T.Buffer((4, 4), "int32")):
    for i in range(2):
        with T.block("b"):
            vi = T.axis.spatial(2, i)
            V = T.match_buffer(A[vi + 1, 0:4], (4,), "int32")
            V[2] = vi + 5
"""
    session = Session(parse(text), "main", [np.zeros((4, 4), np.int32)])
    session.breakpoints.watches = (Watch(1, "A", (2, 2)),)
    assert [stop.text for stop in stops(session, Motion("continue"))] == ["A[2, 2]: 0 -> 6"]


def test_a_condition_that_cannot_be_evaluated_stops_and_says_why() -> None:
    text = 'T.prim_func main(A: T.Buffer((2,), "int32")):\n    for i in range(2):\n        A[i] = i\n'
    session = Session(parse(text), "main", [np.zeros(2, np.int32)])
    session.breakpoints.set([Breakpoint(1, "<string>", 3, condition="A[i + 1] == 0")])
    session.start(Motion("continue"))
    events: list[Any] = []
    while not isinstance(event := session.events.get(timeout=120), Exited):
        events.append(event)
        if isinstance(event, Stopped):
            session.resume(Motion("continue", session.timeline.shown))
    assert [type(event) for event in events] == [Stopped, Output, Stopped]
    assert "A[2] is outside the buffer: its dimension 0 has 2 elements" in events[1].text


def test_the_record_is_bounded() -> None:
    text = """\
T.prim_func main(A: T.Buffer((1,), "int32")):
    for i in range(2000):
        with T.block("b"):
            vi = T.axis.opaque(2000, i)
            T.reads()
            T.writes()
            B = T.alloc_buffer((1000,), "int32")
            B[0] = vi
"""
    session = Session(parse(text), "main", [np.zeros(1, np.int32)], Options(most_steps=50))
    stops(session, Motion("continue"))
    assert session.steps == 4002
    assert session.timeline.end - session.timeline.start == 50
    session = Session(parse(text), "main", [np.zeros(1, np.int32)])
    session.timeline = Timeline(most_bytes=100_000)
    stops(session, Motion("continue"))
    assert 20 < session.timeline.end - session.timeline.start < 60


@pytest.mark.parametrize(
    ("trap", "track", "code"), [(True, False, "E0720"), (False, True, "E0710"), (False, False, "")]
)
def test_traps_stop_the_run_where_asked(trap: bool, track: bool, code: str) -> None:
    text = """\
T.prim_func main(A: T.Buffer((4,), "int32")):
    B = T.alloc_buffer((4,), "int32")
    for i in range(4):
        with T.block("b"):
            vi = T.axis.spatial(4, i)
            T.reads()
            T.writes(A[vi])
            A[vi] = B[vi]
"""
    session = Session(parse(text), "main", [np.zeros(4, np.int32)], Options(trap=trap, track=track))
    stops(session, Motion("continue"))
    assert ("" if session.fault is None else session.fault.diagnostics[0].code) == code
