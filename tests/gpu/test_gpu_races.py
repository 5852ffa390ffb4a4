"""Planted races: a barrier that is missing, or at the wrong place, is reported with both lines; with it, nothing is."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import tvms
from tvms.codegen.gpu.races import find_races
from tvms.ir import tir
from tvms.ir.base import Span
from tvms.ir.interp import run
from tvms.ir.verify import verify
from tvms.testing.oracle import random_inputs

WAIT = 'T.tvm_storage_sync("shared")'
WARP_WAIT = 'T.tvm_storage_sync("warp")'


def program(lines: list[str], threads: int = 64, blocks: int = 2) -> str:
    """Return the text of a kernel with shared memory S and R; `#1` and `#2` mark the lines that race."""
    head = [
        f'T.prim_func main(A: T.Buffer(({blocks}, {threads}), "float32"), B: T.Buffer(({blocks}, {threads}), "float32")):',
        f'    bx = T.launch_thread("blockIdx.x", {blocks})',
        f'    S_data = T.allocate([{threads}], "float32", "shared")',
        f'    R_data = T.allocate([{threads}], "float32", "shared")',
        f'    tx = T.launch_thread("threadIdx.x", {threads})',
        f'    S = T.Buffer(({threads},), data=S_data, scope="shared")',
        f'    R = T.Buffer(({threads},), data=R_data, scope="shared")',
    ]
    return "\n".join([*head, *("    " + line for line in lines)]) + "\n"


WRITE, READ = "S[tx] = A[bx, tx]  #1", "B[bx, tx] = S[63 - tx]  #2"
PLANTED: dict[str, list[str]] = {
    "no barrier": [WRITE, READ],
    "a barrier too early": [WAIT, WRITE, READ],
    "a barrier too late": [WRITE, READ, WAIT],
    "a neighbor to the left": [WRITE, "if tx > 0:", "    B[bx, tx] = S[tx - 1]  #2"],
    "a neighbor to the right": [WRITE, "if tx < 63:", "    B[bx, tx] = S[tx + 1]  #2"],
    "one element for all": ["S[0] = A[bx, tx]  #1 #2", WAIT, "B[bx, tx] = S[0]"],
    "an element for two": ["S[tx // 2] = A[bx, tx]  #1 #2", WAIT, "B[bx, tx] = S[tx // 2]"],
    "what the first thread wrote": ["if tx == 0:", "    S[0] = A[bx, 0]  #1", "B[bx, tx] = S[0]  #2"],
    "written again before all have read": ["S[tx] = A[bx, tx]", WAIT, "B[bx, tx] = S[63 - tx]  #1", "S[tx] = T.float32(0)  #2"],
    "the next step of a loop": ["for k in range(2):", "    S[tx] = A[bx, tx]  #2", f"    {WAIT}", "    B[bx, tx] = S[63 - tx]  #1"],
    "a sum in place": ["S[tx] = A[bx, tx]", WAIT, "for k in range(3):", "    S[0] = S[0] + A[bx, tx]  #1 #2"],
    "a tree without barriers": [
        "S[tx] = A[bx, tx]", WAIT, "if tx < 32:", "    S[tx] = S[tx] + S[tx + 32]  #1", "if tx < 16:",
        "    S[tx] = S[tx] + S[tx + 16]  #2", "B[bx, tx] = S[tx]",
    ],
    "a barrier of the warp alone": [WRITE, WARP_WAIT, READ],
    "two writes of one element": ["S[tx] = A[bx, tx]  #1", "S[63 - tx] = T.float32(1)  #2"],
    "a transposition": ["S[tx] = A[bx, tx]  #1", "B[bx, tx] = S[tx % 8 * 8 + tx // 8]  #2"],
    "an element of another block": ["B[0, tx] = A[bx, tx]  #1 #2"],
    "what another block wrote": ["B[bx, tx] = A[bx, tx]  #1", "S[tx] = B[1 - bx, tx]  #2"],
    "the wrong one of two buffers": ["S[tx] = A[bx, tx]", WAIT, "R[tx] = S[63 - tx]  #1", "B[bx, tx] = R[63 - tx]  #2"],
    "in memory of the GPU": ["B[bx, tx] = A[bx, tx]  #1", "S[tx] = B[bx, 63 - tx]  #2"],
    "a branch that writes": ["if tx % 2 == 0:", "    S[tx] = A[bx, tx]  #1", "else:", "    B[bx, tx] = S[tx - 1]  #2"],
    "a write after a shuffle": ["S[tx] = A[bx, tx]", WAIT, "x: T.float32 = T.tvm_warp_shuffle_xor(T.uint32(0xFFFFFFFF), S[63 - tx], 1, 32, 32)  #1", "S[tx] = x  #2"],
    "a loop that differs": ["for k in range(tx % 2 + 1):", "    S[(tx + k) % 64] = A[bx, tx]  #1 #2"],
}  # fmt: skip
CORRECT: dict[str, list[str]] = {
    "a barrier between": [WRITE, WAIT, READ],
    "barriers in a loop": ["for k in range(3):", "    S[tx] = A[bx, tx]", f"    {WAIT}", "    B[bx, tx] = S[63 - tx]", f"    {WAIT}"],
    "a barrier of the warp within it": [WRITE, WARP_WAIT, "B[bx, tx] = S[tx // 32 * 32 + 31 - tx % 32]"],
    "one's own element": [WRITE, "S[tx] = S[tx] * T.float32(2)", "B[bx, tx] = S[tx]"],
    "reads of one element": ["if tx == 0:", "    S[0] = A[bx, 0]", WAIT, "B[bx, tx] = S[0]"],
    "atomic additions": ['T.evaluate(T.call_intrin("float32", "tir.atomic_add", T.address_of(B[0, 0]), A[bx, tx]))'],
    "a tree": ["S[tx] = A[bx, tx]", WAIT, "if tx < 32:", "    S[tx] = S[tx] + S[tx + 32]", WAIT, "B[bx, tx] = S[tx % 32]"],
}  # fmt: skip


def races(lines: list[str]) -> tuple[tvms.Diagnostic, ...]:
    module = tvms.parse(program(lines))
    function = module.functions["main"]
    assert isinstance(function, tir.PrimFunc)
    return find_races(module, "main", random_inputs(function, np.random.default_rng(0)))


def test_there_are_many() -> None:
    assert len(PLANTED) >= 20


def line_of(span: Span | None) -> int:
    assert span is not None
    return span.source.text.count("\n", 0, span.start) + 1


@pytest.mark.parametrize("name", PLANTED)
def test_a_race_is_reported_with_both_lines(name: str) -> None:
    text = program(PLANTED[name]).splitlines()
    expected = {mark: next(i for i, line in enumerate(text, 1) if mark in line) for mark in ("#1", "#2")}
    found = races(PLANTED[name])
    assert found
    assert {diagnostic.code for diagnostic in found} == {"E0723"}
    lines = [{line_of(diagnostic.span), line_of(diagnostic.notes[0].span)} for diagnostic in found]
    assert set(expected.values()) in lines, [str(diagnostic) for diagnostic in found]


@pytest.mark.parametrize("name", CORRECT)
def test_what_waits_does_not_race(name: str) -> None:
    assert races(CORRECT[name]) == ()


def test_the_message() -> None:
    (found, *_) = races(PLANTED["no barrier"])
    assert str(tvms.TvmsError([found])) == (
        "error[E0723]: threads 31 and 32 of a block race on element 32 of 'S': one reads it, the other writes it, "
        "without a barrier between\n"
        "  --> <string>:8:5\n"
        "   |\n"
        " 8 |     S[tx] = A[bx, tx]  #1\n"
        "   |     ^^^^^^^^^^^^^^^^^\n"
        '   = help: put T.tvm_storage_sync("shared") between the accesses\n'
        "note: it reads it here\n"
        "  --> <string>:9:17\n"
        "   |\n"
        " 9 |     B[bx, tx] = S[63 - tx]  #2\n"
        "   |                 ^^^^^^^^^^"
    )


def _loop_over_threads(write: str, read: str, is_read_first: bool, has_turns: bool) -> list[str]:
    """Return the lines of a loop over threads of two statements, by the index that one writes and the other reads."""
    pair = [f"S[{write}] = A[tx] + S[{write}] * T.float32(2)", f"B[tx] = B[tx] * T.float32(3) + S[{read}]"]
    turns, indent = (["    for k in range(2):"], "    ") if has_turns else ([], "")
    threads = 'for tx in T.thread_binding(16, thread="threadIdx.x"):'
    return [threads, *turns, *(f"    {indent}{line}" for line in (reversed(pair) if is_read_first else pair))]


def test_loops_over_threads_are_reported_where_threads_do_something_else() -> None:
    reads = ("tx", "15 - tx", "T.max(tx - 1, 0)", "T.min(tx + 1, 15)", "tx // 4 * 4")
    ways = [*product(["tx"], reads, (False, True), (False, True)), ("15 - tx", "tx", True, False)]
    head = ", ".join(f'{name}: T.Buffer((16,), "float32")' for name in "ABS")
    text = "I.ir_module Module:\n" + "".join(
        f"    T.prim_func f{number}({head}):\n" + "".join(f"        {line}\n" for line in _loop_over_threads(*way))
        for number, way in enumerate(ways)
    )
    module = tvms.parse(text)
    threads = tvms.compile(module, target="cuda -simulate=random", level=0)
    values = [np.random.default_rng(seed).integers(1, 9, 16).astype("f4") for seed in range(3)]
    for number, way in enumerate(ways):
        one_by_one, together = ([value.copy() for value in values] for _ in range(2))
        run(module, f"f{number}", one_by_one)
        threads[f"f{number}"](*together)
        is_same = all(np.array_equal(a, b) for a, b in zip(one_by_one, together, strict=True))
        found = verify(module.functions[f"f{number}"], "races")
        assert is_same == (not found), f"{way}: {[diagnostic.message for diagnostic in found]}"
        assert {diagnostic.code for diagnostic in found} <= {"E0419"}


@pytest.mark.parametrize(
    "lines",
    [
        ['for tx in T.thread_binding(16, thread="threadIdx.x"):', "    S[tx] = A[tx]",
         'for tx in T.thread_binding(16, thread="threadIdx.x"):', "    B[tx] = S[15 - tx]"],
        ['for tx in T.thread_binding(16, thread="threadIdx.x"):',
         '    for again in T.thread_binding(16, thread="threadIdx.x"):', "        S[again] = A[again]", "    B[tx] = S[15 - tx]"],
        ['for tx in T.thread_binding(16, thread="threadIdx.x"):', "    S[tx] = A[tx]", '    T.tvm_storage_sync("shared")',
         "    B[tx] = S[15 - tx]"],
    ],
    ids=["two loops", "threads that fetch together", "a barrier of its own"],
)  # fmt: skip
def test_what_is_no_race_of_a_loop(lines: list[str]) -> None:
    head = 'T.prim_func f(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):\n'
    memory = '    S = T.alloc_buffer((16,), "float32", scope="shared")\n'
    assert verify(tvms.parse(head + memory + "".join(f"    {line}\n" for line in lines)), "races") == ()
