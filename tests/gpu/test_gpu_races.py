"""Planted races: a barrier that is missing, or at the wrong place, is reported with both lines; with it, nothing is."""

from __future__ import annotations

from itertools import product
from textwrap import indent

import numpy as np
import pytest
import tvms
from hypothesis import given, settings
from hypothesis import strategies as st
from tvms.codegen.gpu.races import find_races
from tvms.ir import tir
from tvms.ir.base import IRModule, Span
from tvms.ir.interp import run
from tvms.ir.verify import verify
from tvms.testing.cooperation import cooperative_programs
from tvms.testing.oracle import random_inputs
from tvms.testing.threads import thread_programs
from tvms.testing.warpgroups import warpgroup_programs

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


# Whole programs; `between` is a barrier in the correct ones.
def fragments(between: str, after: str = "", threads: int = 64) -> str:
    """Return a kernel whose warps store a tile into shared memory, which the first one loads as a fragment and stores."""
    return f"""T.prim_func main(A: T.Buffer((256,), "float16"), B: T.Buffer((256,), "float32")):
    S_data = T.allocate([256], "float16", "shared")
    R_data = T.allocate([256], "float32", "shared")
    a_data = T.allocate([256], "float16", "wmma.matrix_a")
    b_data = T.allocate([256], "float16", "wmma.matrix_b")
    c_data = T.allocate([256], "float32", "wmma.accumulator")
    ty = T.launch_thread("threadIdx.y", {threads // 32})
    tx = T.launch_thread("threadIdx.x", 32)
    S = T.Buffer((256,), "float16", data=S_data, scope="shared")
    R = T.Buffer((256,), "float32", data=R_data, scope="shared")
    for k in range({256 // threads}):
        S[k * {threads} + ty * 32 + tx] = A[k * {threads} + ty * 32 + tx]  #1
    {between}
    T.tvm_load_matrix_sync(a_data, 16, 16, 16, 0, T.address_of(S[0]), 16, "row_major")  #2
    T.tvm_load_matrix_sync(b_data, 16, 16, 16, 0, T.address_of(S[0]), 16, "row_major")
    T.tvm_fill_fragment(c_data, 16, 16, 16, 0, T.float32(0))
    T.tvm_mma_sync(c_data, 0, a_data, 0, b_data, 0, c_data, 0)
    {after or "T.evaluate(0)"}
"""


STORED = 'T.tvm_store_matrix_sync(c_data, 16, 16, 16, 0, T.address_of(R[0]), 16, "row_major")'


def matrices(between: str, count: int = 4) -> str:
    """Return a kernel of two warps that load rows of both by ldmatrix."""
    return f"""T.prim_func main(A: T.Buffer((512,), "float16"), B: T.Buffer((64, 8), "float16")):
    S_data = T.allocate([512], "float16", "shared")
    L_data = T.allocate([8], "float16", "local")
    tx = T.launch_thread("threadIdx.x", 64)
    S = T.Buffer((512,), "float16", data=S_data, scope="shared")
    L = T.Buffer((8,), "float16", data=L_data, scope="local")
    for k in range(8):
        S[k * 64 + tx] = A[k * 64 + tx]  #1
    {between}
    T.ptx_ldmatrix("float16", False, {count}, ".b16", L_data, 0, S_data, tx % 32 * 8)  #2
    for k in range({2 * count}):
        B[tx, k] = L[k]
"""


def asynchronous(before: str, between: str, first: str = "T.evaluate(0)", size: int = 16) -> str:
    """Return a kernel that copies to shared memory asynchronously and reads what another thread has copied."""
    width = size // 4
    return f"""T.prim_func main(A: T.Buffer((64, {width}), "float32"), B: T.Buffer((64, {width}), "float32")):
    S_data = T.allocate([{64 * width}], "float32", "shared")
    tx = T.launch_thread("threadIdx.x", 64)
    S = T.Buffer((64, {width}), "float32", data=S_data, scope="shared")
    {first}
    T.ptx_cp_async("float32", S_data, tx * {width}, A.data, tx * {width}, {size})  #1
    T.ptx_commit_group()
    {before}
    T.ptx_wait_group(0)
    {between}
    for k in range({width}):
        B[tx, k] = S[63 - tx, k]  #2
"""


def atomics(
    target: str, between: str, read: str, start: str = "T.evaluate(0)", threads: int = 64, blocks: int = 1
) -> str:
    """Return a kernel whose threads add to elements of shared memory S or global memory G."""
    return f"""T.prim_func main(A: T.Buffer(({threads},), "float32"), G: T.Buffer(({threads},), "float32"), B: T.Buffer(({blocks}, {threads}), "float32")):
    bx = T.launch_thread("blockIdx.x", {blocks})
    S_data = T.allocate([{threads}], "float32", "shared")
    tx = T.launch_thread("threadIdx.x", {threads})
    S = T.Buffer(({threads},), "float32", data=S_data, scope="shared")
    {start}
    T.evaluate(T.call_intrin("float32", "tir.atomic_add", T.address_of({target}), A[tx]))  #1
    {between}
    {read}
"""


def kernels(first: str, second: str, threads: int = 32, blocks: int = 2) -> str:
    """Return a function of two kernels; `bx` and `tx` are the block and the thread."""
    head = 'T.prim_func main(A: T.Buffer(({n},), "float32"), B: T.Buffer(({n},), "float32")):\n'.format(
        n=threads * blocks
    )
    launch = [
        f'    with T.launch_thread("blockIdx.x", {blocks}) as bx:',
        f'        with T.launch_thread("threadIdx.x", {threads}) as tx:',
    ]
    return head + "\n".join([*launch, f"            {first}", *launch, f"            {second}"]) + "\n"


def symbolic(between: str) -> str:
    """Return a kernel for any number of rows."""
    return f"""T.prim_func main(a: T.handle, b: T.handle):
    m = T.int64()
    A = T.match_buffer(a, (m, 64), "float32")
    B = T.match_buffer(b, (m, 64), "float32")
    bx = T.launch_thread("blockIdx.x", m)
    S_data = T.allocate([64], "float32", "shared")
    tx = T.launch_thread("threadIdx.x", 64)
    S = T.Buffer((64,), "float32", data=S_data, scope="shared")
    S[tx] = A[bx, tx]  #1
    {between}
    B[bx, tx] = S[(tx + m) % 64]  #2
"""


NONE = "T.evaluate(0)"
PLANTED_PROGRAMS = {
    "a fragment of a tile of two warps": fragments(NONE),
    "a fragment of a tile of four warps": fragments(NONE, threads=128),
    "a fragment after a barrier of the warp": fragments(WARP_WAIT),
    "a tile that is stored again": fragments(WAIT, "S[ty * 32 + tx] = T.float16(0)  #1").replace("tx]  #1\n    T.tvm", "tx]\n    T.tvm"),
    "an accumulator that is read by all": fragments(WAIT, STORED + "  #1\n    B[ty * 32 + tx] = R[ty * 32 + tx]  #2").replace("tx]  #1", "tx]").replace(', "row_major")  #2', ', "row_major")'),
    "two warps that store one accumulator": fragments(WAIT, STORED + "  #1 #2").replace("tx]  #1", "tx]").replace(', "row_major")  #2', ', "row_major")'),
    "ldmatrix of rows of another warp": matrices(NONE),
    "ldmatrix of two matrices": matrices(NONE, 2),
    "ldmatrix after a barrier of the warp": matrices(WARP_WAIT, 1),
    "another thread's copy": asynchronous(NONE, NONE),
    "another thread's copy of four bytes": asynchronous(NONE, NONE, size=4),
    "a barrier before the wait": asynchronous(WAIT, NONE),
    "a copy after a barrier of the warp": asynchronous(NONE, WARP_WAIT),
    "a copy over what others read": asynchronous(NONE, WAIT, "B[tx, 0] = S[63 - tx, 0]  #2").replace("k]  #2", "k]"),
    "a read between copy and wait": asynchronous("B[tx, 0] = S[63 - tx, 0]  #2", WAIT).replace("k]  #2", "k]"),
    "an atomic sum that is read": atomics("S[0]", NONE, "B[bx, tx] = S[0]  #2"),
    "an atomic sum that is read by one": atomics("S[0]", NONE, "if tx == 0:\n        B[bx, 0] = S[0]  #2"),
    "atomic sums of neighbors": atomics("S[tx // 2]", WARP_WAIT, "B[bx, tx] = S[31 - tx // 2]  #2"),
    "an atomic sum that is cleared": atomics("S[0]", NONE, "B[bx, tx] = A[tx]", "if tx == 0:\n        S[0] = T.float32(0)  #2"),
    "an atomic sum over blocks": atomics("G[0]", WAIT, "B[bx, tx] = G[0]  #2", blocks=2),
    "an atomic sum and a store": atomics("G[0]", NONE, "if tx == 5:\n        G[0] = T.float32(1)  #2"),
    "the second of two kernels": kernels("B[bx * 32 + tx] = A[bx * 32 + tx]", "B[tx] = A[bx * 32 + tx]  #1 #2"),
    "the first of two kernels": kernels("B[tx] = A[bx * 32 + tx]  #1 #2", "A[bx * 32 + tx] = B[bx * 32 + tx]"),
    "symbolic sizes": symbolic(NONE),
}  # fmt: skip
CORRECT_PROGRAMS: dict[str, str] = {
    **{f"fragments of {threads} threads": fragments(WAIT, threads=threads) for threads in (32, 64, 128)},
    "an accumulator after a barrier": fragments(WAIT, f"if ty == 0:\n        {STORED}\n    {WAIT}\n    B[ty * 32 + tx] = R[ty * 32 + tx]"),
    "a tile that is stored after a barrier": fragments(WAIT, f"{WAIT}\n    S[ty * 32 + tx] = T.float16(0)"),
    "a fragment of a warp": fragments(WARP_WAIT, threads=32),
    **{f"{count} matrices": matrices(WAIT, count) for count in (1, 2, 4)},
    **{f"copies of {size} bytes": asynchronous(NONE, WAIT, size=size) for size in (4, 8, 16)},
    "copies over what was read": asynchronous(NONE, WAIT, f"B[tx, 0] = S[63 - tx, 0]\n    {WAIT}"),
    "one's own copy": asynchronous(NONE, NONE).replace("63 - tx", "tx"),
    "two barriers": asynchronous(WAIT, WAIT),
    "copies within a warp": asynchronous(NONE, WARP_WAIT).replace("63 - tx", "tx // 32 * 32 + 31 - tx % 32"),
    **{
        f"atomic {target} over {blocks} blocks": atomics(target, WAIT, "B[bx, tx] = A[tx]", blocks=blocks)
        for target in ("S[0]", "S[tx // 2]", "S[tx]", "G[0]", "G[tx % 4]") for blocks in (1, 2)
    },
    **{
        f"atomic {target} between barriers": atomics(target, WAIT, f"B[bx, tx] = {target[0]}[63 - tx]", f"{target[0]}[tx] = T.float32(0)\n    {WAIT}")
        for target in ("S[0]", "S[63 - tx]", "G[0]")
    },
    **{
        f"a kernel that {does}": kernels("B[bx * 32 + tx] = A[bx * 32 + tx]", second)
        for does, second in {
            "reads what others wrote": "A[bx * 32 + tx] = B[63 - bx * 32 - tx]", "reads one element": "A[bx * 32 + tx] = B[0]",
            "writes again": "B[63 - bx * 32 - tx] = T.float32(0)", "writes what was read": "A[63 - bx * 32 - tx] = T.float32(0)",
            "adds": 'T.evaluate(T.call_intrin("float32", "tir.atomic_add", T.address_of(B[0]), A[tx]))',
        }.items()
    },
    **{f"rows of any number, {wait}": symbolic(wait) for wait in (WAIT, f"{WAIT}\n    {WAIT}")},
}  # fmt: skip


def patterns() -> dict[str, list[str]]:
    """Return legal exchanges through shared memory: what is written, a barrier that is sufficient, and what is read."""
    of_block = ["S[63 - tx]", "S[tx // 8 * 8]", "S[0]", "S[(tx + 33) % 64]", "S[tx ^ 32]"]
    result: dict[str, list[str]] = {}
    for write in ("S[tx]", "S[63 - tx]", "S[tx % 32 * 2 + tx // 32]"):
        for read in of_block:
            for waits in ([WAIT], [WAIT, WARP_WAIT], ["if bx == 0:", "    T.evaluate(0)", WAIT]):
                result[f"{write} {waits} {read}"] = [f"{write} = A[bx, tx]", *waits, f"B[bx, tx] = {read}"]
        result[f"{write} own"] = [f"{write} = A[bx, tx]", f"B[bx, tx] = {write}"]
        result[f"{write} loop"] = [
            "for k in range(2):", f"    {write} = A[bx, tx]", f"    {WAIT}", "    B[bx, tx] = S[63 - tx]", f"    {WAIT}",
        ]  # fmt: skip
        result[f"{write} two buffers"] = [
            "for k in range(2):", f"    {write} = A[bx, tx]", f"    {WAIT}", "    R[tx] = S[63 - tx]", f"    {WAIT}", "    B[bx, tx] = R[0]",
        ]  # fmt: skip
    for read in ("S[tx ^ 1]", "S[tx // 32 * 32]", "S[tx // 32 * 32 + 31 - tx % 32]", "S[tx // 4 * 4]"):
        for waits in ([WARP_WAIT], [WARP_WAIT, WARP_WAIT], [WAIT]):
            result[f"{waits} {read}"] = ["S[tx] = A[bx, tx]", *waits, f"B[bx, tx] = {read}"]
    for shuffle in ("tvm_warp_shuffle_xor", "tvm_warp_shuffle_up", "tvm_warp_shuffle_down"):
        result[shuffle] = [f"x: T.float32 = T.{shuffle}(T.uint32(0xFFFFFFFF), A[bx, tx], 1, 32, 32)", "B[bx, tx] = x"]
    return result


def races(lines: list[str]) -> tuple[tvms.Diagnostic, ...]:
    return races_of(program(lines))


def races_of(text: str) -> tuple[tvms.Diagnostic, ...]:
    """Return the races of a program with random arguments."""
    module = tvms.parse(text)
    function = module.functions["main"]
    assert isinstance(function, tir.PrimFunc)
    return find_races(module, "main", random_inputs(function, np.random.default_rng(0)))


def test_there_are_many() -> None:
    assert len(PLANTED) + len(PLANTED_PROGRAMS) >= 40
    assert len(CORRECT) + len(CORRECT_PROGRAMS) + len(patterns()) >= 100


def line_of(span: Span | None) -> int:
    assert span is not None
    return span.source.text.count("\n", 0, span.start) + 1


@pytest.mark.parametrize("name", [*PLANTED, *PLANTED_PROGRAMS])
def test_a_race_is_reported_with_both_lines(name: str) -> None:
    text = PLANTED_PROGRAMS[name] if name in PLANTED_PROGRAMS else program(PLANTED[name])
    expected = {mark: next(i for i, line in enumerate(text.splitlines(), 1) if mark in line) for mark in ("#1", "#2")}
    found = races_of(text)
    assert found
    assert {diagnostic.code for diagnostic in found} == {"E0723"}
    lines = [{line_of(diagnostic.span), line_of(diagnostic.notes[0].span)} for diagnostic in found]
    assert set(expected.values()) in lines, [str(diagnostic) for diagnostic in found]


@pytest.mark.deep(4)
@pytest.mark.parametrize("name", [*CORRECT, *CORRECT_PROGRAMS, *patterns()])
def test_what_waits_does_not_race(name: str) -> None:
    text = CORRECT_PROGRAMS[name] if name in CORRECT_PROGRAMS else program((CORRECT | patterns())[name])
    assert races_of(text) == ()


@settings(max_examples=max(settings().max_examples // 20, 5))
@given(st.one_of(thread_programs(), cooperative_programs(), warpgroup_programs()), st.integers(0, 99))
def test_random_programs_without_races_have_none(module: IRModule, seed: int) -> None:
    function = module.functions["main"]
    assert isinstance(function, tir.PrimFunc)
    assert find_races(module, "main", random_inputs(function, np.random.default_rng(seed))) == ()


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


@pytest.mark.parametrize(
    ("index", "is_written"),
    [("tx", True), ("15 - tx", False), ("T.max(tx - 1, 0)", False), ("tx // 4 * 4", False), ("3", False)],
)
def test_a_read_of_local_memory_that_another_thread_wrote_is_reported(index: str, is_written: bool) -> None:
    text = f"""\
T.prim_func f(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    tx = T.launch_thread("threadIdx.x", 16)
    L = T.decl_buffer((16,), "float32", scope="local")
    L[tx] = A[tx]
    T.tvm_storage_sync("shared")
    B[tx] = L[{index}]
"""
    values = [np.arange(16, dtype="f4"), np.zeros(16, "f4")]
    found = find_races(tvms.parse(f"I.ir_module M:\n{indent(text, '    ')}"), "f", values)
    assert [diagnostic.code for diagnostic in found] == ([] if is_written else ["E0710"])
    for diagnostic in found:
        (note,) = diagnostic.notes
        assert line_of(note.span) == line_of(diagnostic.span) - 2
        assert "of its own 'L', which it has not written" in diagnostic.message
        assert diagnostic.help == "allocate 'L' in scope 'shared': each thread has its own local memory"
