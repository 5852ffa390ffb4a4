"""What no GPU can do is refused in our words: LLVM, which ends the process on much of it, never sees it."""

from __future__ import annotations

import os
import re
import sys

import pytest
import tvms
from tvms.codegen.gpu.ptxas import assemble, find_ptxas

HEAD = 'T.prim_func main(A: T.Buffer((32,), "{0}"), B: T.Buffer((32,), "{0}"), n: T.int32):\n'
IN_THREADS = '    tx = T.launch_thread("threadIdx.x", 32)\n'


def store(value: str, dtype: str = "float32") -> str:
    return HEAD.format(dtype) + IN_THREADS + f"    B[tx] = {value}\n"


def body(*lines: str, dtype: str = "float32") -> str:
    return HEAD.format(dtype) + "".join(f"    {line}\n" for line in lines)


T = 'tx = T.launch_thread("threadIdx.x", 32)'


def product(shape: str, a: str, b: str) -> str:
    operands = f'"float32", "{shape}", "row", "col", "{a}", "{b}", "fp32", L, 0, L, 0, L, 0, False'
    return body(T, 'L = T.allocate([4], "float32", "local")', f"T.evaluate(T.ptx_mma({operands}))")


def loops(extent: str, tag: str, inner: str = "B[0] = A[0]") -> str:
    return HEAD.format("float32") + f'    for i in T.thread_binding({extent}, thread="{tag}"):\n        {inner}\n'


REFUSED: dict[str, tuple[str, str]] = {
    "sin of float64": (store("T.sin(A[tx])", "float64"), "E0604"),
    "exp of float64": (store("T.exp(A[tx])", "float64"), "E0604"),
    "pow of float64": (store("T.pow(A[tx], A[tx])", "float64"), "E0604"),
    "sqrt of integers": (store("T.sqrt(A[tx])", "int32"), "E0443"),
    "copysign of integers": (store("T.copysign(A[tx], A[tx])", "int32"), "E0443"),
    "popcount of floats": (store('T.Cast("float32", T.popcount(A[tx]))'), "E0443"),
    "fmod": (store("T.fmod(A[tx], A[tx])"), "E0602"),
    "nextafter": (store("T.nextafter(A[tx], A[tx])"), "E0602"),
    "ldexp": (store("T.ldexp(A[tx], 3)"), "E0602"),
    "a C function": (store('T.call_extern("float32", "sinf", A[tx])'), "E0602"),
    "a pure C function": (store('T.call_pure_extern("float32", "expf", A[tx])'), "E0602"),
    "an intrinsic of LLVM": (store('T.call_llvm_pure_intrin("float32", "llvm.sin.f32", T.uint32(1), A[tx])'), "E0602"),
    "a packed function": (body('tx = T.launch_thread("threadIdx.x", 32)', 'T.call_packed("f", A[tx])'), "E0602"),
    "a prefetch": (
        body('tx = T.launch_thread("threadIdx.x", 32)', 'T.evaluate(T.call_intrin("float32", "tir.prefetch", T.address_of(A[tx]), 0, 3, 1))'),
        "E0602",
    ),
    "an atomic addition of bfloat16": (
        store('T.call_intrin("bfloat16", "tir.atomic_add", T.address_of(B[0]), A[tx])', "bfloat16"), "E0604",
    ),
    "an atomic addition of bytes": (
        store('T.call_intrin("int8", "tir.atomic_add", T.address_of(B[0]), A[tx])', "int8"), "E0604",
    ),
    "a shuffle of three": (store("T.tvm_warp_shuffle(T.uint32(7), A[tx], 0, 3, 32)"), "E0606"),
    "a shuffle of n": (store("T.tvm_warp_shuffle(T.uint32(7), A[tx], 0, n, 32)"), "E0606"),
    "a shuffle of bool": (store("T.tvm_warp_shuffle(T.uint32(7), A[tx], 0, 32, 32)", "bool"), "E0604"),
    "memory of a dynamic size": (
        body('tx = T.launch_thread("threadIdx.x", 32)', 'L = T.allocate([n], "float32", "local")',
             'L_1 = T.Buffer((n,), data=L, scope="local")', "L_1[0] = A[tx]", "B[tx] = L_1[0]"), "E0606",
    ),
    "shared memory of a dynamic size": (
        body('S = T.allocate([n], "float32", "shared")', 'tx = T.launch_thread("threadIdx.x", 32)',
             'S_1 = T.Buffer((n,), data=S, scope="shared")', "S_1[0] = A[tx]", "B[tx] = S_1[0]"), "E0606",
    ),
    "too much shared memory": (
        body('S = T.allocate([20000], "float32", "shared")', 'tx = T.launch_thread("threadIdx.x", 32)',
             'S_1 = T.Buffer((20000,), data=S, scope="shared")', "S_1[tx] = A[tx]", "B[tx] = S_1[tx]"), "E0614",
    ),
    "too much memory of a thread": (
        body('tx = T.launch_thread("threadIdx.x", 32)', 'L = T.allocate([200000], "float32", "local")',
             'L_1 = T.Buffer((200000,), data=L, scope="local")', "L_1[n] = A[tx]", "B[tx] = L_1[n]"), "E0614",
    ),
    "global memory in a kernel": (
        body('tx = T.launch_thread("threadIdx.x", 32)', 'L = T.allocate([4], "float32", "global")',
             'L_1 = T.Buffer((4,), data=L)', "L_1[0] = A[tx]", "B[tx] = L_1[0]"), "E0612",
    ),
    "too many threads": (loops("1025", "threadIdx.x"), "E0611"),
    "too many threads on z": (loops("65", "threadIdx.z"), "E0611"),
    "too many threads together": (
        body('for i in T.thread_binding(64, thread="threadIdx.x"):',
             '    for j in T.thread_binding(32, thread="threadIdx.y"):', "        B[0] = A[0]"), "E0611",
    ),
    "no thread": (loops("0", "threadIdx.x"), "E0611"),
    "too many blocks": (loops("70000", "blockIdx.y"), "E0611"),
    "n threads": (loops("n", "threadIdx.x"), "E0611"),
    "two extents of one axis": (
        body('for b in T.thread_binding(2, thread="blockIdx.x"):', '    for i in T.thread_binding(32, thread="threadIdx.x"):',
             "        B[i] = A[i]", '    for j in T.thread_binding(16, thread="threadIdx.x"):', "        B[j] = A[j]"), "E0417",
    ),
    "an extent by another thread": (
        body('for b in T.thread_binding(2, thread="blockIdx.x"):', '    for i in T.thread_binding(b + 1, thread="threadIdx.x"):',
             "        B[i] = A[i]"), "E0611",
    ),
    "a statement of the host": (
        body("B[0] = A[0]", 'for i in T.thread_binding(32, thread="threadIdx.x"):', "    B[i] = A[i]"), "E0612",
    ),
    "a call of the host": (
        body('T.call_packed("f")', 'for i in T.thread_binding(32, thread="threadIdx.x"):', "    B[i] = A[i]"), "E0612",
    ),
    "a condition in the memory of the GPU": (
        body("if A[0] > T.float32(0):", '    for i in T.thread_binding(32, thread="threadIdx.x"):', "        B[i] = A[i]"), "E0612",
    ),
    "memory that two kernels share": (
        body('S = T.allocate([32], "float32", "shared")', 'S_1 = T.Buffer((32,), data=S, scope="shared")',
             'for i in T.thread_binding(32, thread="threadIdx.x"):', "    S_1[i] = A[i]",
             'for j in T.thread_binding(32, thread="threadIdx.x"):', "    B[j] = S_1[j]"), "E0612",
    ),
    "a barrier under a condition": (
        body('S = T.allocate([32], "float32", "shared")', 'S_1 = T.Buffer((32,), data=S, scope="shared")',
             'for i in T.thread_binding(32, thread="threadIdx.x"):', "    if A[i] > T.float32(0):",
             "        S_1[i] = A[i]", "        B[i] = S_1[31 - i]"), "E0613",
    ),
    "a barrier between blocks": (
        body('tx = T.launch_thread("threadIdx.x", 32)', "B[tx] = A[tx]", 'T.tvm_storage_sync("global")'), "E0606",
    ),
    "a value to return": (body('tx = T.launch_thread("threadIdx.x", 32)', "T.ret(tx)"), "E0606"),
    "an accelerator's intrinsic": (
        body('tx = T.launch_thread("threadIdx.x", 32)', 'T.evaluate(T.call_intrin("int32", "tir.dma_wait", 0, 0))'), "E0602",
    ),
    "a matrix of a SIMD group": (
        body('tx = T.launch_thread("threadIdx.x", 32)', "T.make_filled_simdgroup_matrix(A.data, 0, T.float32(0), 8, 8)"), "E0602",
    ),
    "memory of a scope that there is not": (
        body('tx = T.launch_thread("threadIdx.x", 32)', 'L = T.allocate([4], "float32", "texture")',
             'L_1 = T.Buffer((4,), data=L, scope="texture")', "L_1[0] = A[tx]", "B[tx] = L_1[0]"), "E0606",
    ),
    "atomic addition to memory that is private to a thread": (
        body('tx = T.launch_thread("threadIdx.x", 32)', 'L = T.allocate([1], "float32", "local")',
             'L_1 = T.Buffer((1,), data=L, scope="local")', "L_1[0] = A[tx]",
             'B[tx] = T.call_intrin("float32", "tir.atomic_add", T.address_of(L_1[0]), A[tx])'), "E0606",
    ),
    "too many arguments": (
        "T.prim_func main(" + ", ".join(f'A{i}: T.Buffer((32,), "float32")' for i in range(520)) + "):\n" + IN_THREADS
        + "".join(f"    A{i}[tx] = A{i + 1}[tx]\n" for i in range(519)), "E0614",
    ),
    "more blocks than numbers": (loops("T.int64(8589934592)", "blockIdx.x"), "E0611"),
    "fewer threads than none": (loops("-3", "threadIdx.x"), "E0611"),
    "shared memory beyond all bounds": (
        body('S = T.allocate([9223372036854775807], "float32", "shared")', 'tx = T.launch_thread("threadIdx.x", 32)',
             'S_1 = T.Buffer((4,), data=S, scope="shared")', "S_1[0] = A[tx]", "B[tx] = S_1[0]"), "E0614",
    ),
    "a barrier of the whole GPU": (body('tx = T.launch_thread("threadIdx.x", 32)', 'T.tvm_storage_sync("global")', "B[tx] = A[tx]"), "E0606"),
    "a value that a kernel returns": (body('tx = T.launch_thread("threadIdx.x", 32)', "T.ret(0)"), "E0606"),
    "wide floats": (store("A[tx] + A[tx]", "float128"), "E0202"),
    "wide integers": (store("A[tx] + A[tx]", "int128"), "E0604"),
    "groups that are never under way": (body(T, "T.evaluate(T.ptx_wait_group(-1))", "B[tx] = A[tx]"), "E0606"),
    "as many groups as a parameter says": (body(T, "T.evaluate(T.ptx_wait_group(n))", "B[tx] = A[tx]"), "E0606"),
    "a copy to global memory": (body(T, 'T.evaluate(T.ptx_cp_async("float32", B.data, 0, A.data, 0, 16))'), "E0606"),
    "a copy from shared memory": (
        body('S = T.allocate([32], "float32", "shared")', T, 'T.evaluate(T.ptx_cp_async("float32", S, 0, S, 8, 16))'), "E0606",
    ),
    "a copy of five bytes": (
        body('S = T.allocate([32], "float32", "shared")', T, 'T.evaluate(T.ptx_cp_async("float32", S, 0, A.data, 0, 5))'), "E0606",
    ),
    "matrices in global memory": (
        body(T, 'T.evaluate(T.ptx_ldmatrix("float16", False, 4, ".b16", A.data, 0, B.data, 0))', dtype="float16"), "E0606",
    ),
    "five matrices": (
        body('S = T.allocate([512], "float16", "shared")', T, 'L = T.allocate([8], "float16", "local")',
             'T.evaluate(T.ptx_ldmatrix("float16", False, 5, ".b16", L, 0, S, 0))'), "E0606",
    ),
    "a product of no unit": (product("m99n8k16", "fp16", "fp16"), "E0606"),
    "a product of dtypes that are none": (product("m16n8k16", "fp64", "int3"), "E0606"),
    "a product that says more": (product("m16n8k16; exit", "fp16", "fp16"), "E0606"),
    "an odd fragment": (
        body(T, 'F = T.allocate([100], "float16", "wmma.matrix_a")', "T.tvm_fill_fragment(F, 10, 10, 10, 0, T.float32(0))"), "E0606",
    ),
    "a barrier of a scope that there is not": (body(T, 'T.evaluate(T.tvm_storage_sync("galaxy"))', "B[tx] = A[tx]"), "E0606"),
    "a barrier of LLVM": (body(T, 'T.evaluate(T.call_llvm_intrin("int32", "llvm.nvvm.barrier0", T.uint32(0)))'), "E0602"),
    "a trap of LLVM": (body(T, 'T.evaluate(T.call_llvm_intrin("int32", "llvm.trap", T.uint32(0)))'), "E0602"),
    "a C function with another name": (store('T.call_extern("float32", "\\"); exit(1); (\\"")'), "E0602"),
    "a field of an array": (store('T.tvm_struct_get(A.data, 0, 1, "float32")'), "E0602"),
    "memory of the stack": (body(T, 's: T.handle = T.tvm_stack_alloca("array", 4)', "B[tx] = A[tx]"), "E0602"),
    "a reduction without its reducer": (
        body(T, 'R = T.allocate([1], "float32", "local")', "T.tvm_thread_allreduce(T.uint32(1), A[tx], T.bool(True), R, tx)"), "E0606",
    ),
    "no block": (body('bx = T.launch_thread("blockIdx.x", 0)', T, "B[tx] = A[tx]"), "E0611"),
    "threads fewer than none": (body('tx = T.launch_thread("threadIdx.x", -5)', "B[0] = A[0]"), "E0611"),
    "four and a half threads": (body('tx = T.launch_thread("threadIdx.x", T.float32(4.5))', "B[0] = A[0]"), "E0406"),
    "threads of a tag that there is not": (body('tx = T.launch_thread("warpIdx.x", 4)', "B[0] = A[0]"), "E0612"),
    "too much shared memory of a launch": (
        body('S = T.allocate([1000000], "float32", "shared.dyn")', T, 'S_1 = T.Buffer((1000000,), data=S, scope="shared.dyn")',
             "S_1[tx] = A[tx]", "B[tx] = S_1[tx]"), "E0614",
    ),
    "integers of one bit": (store("A[tx]", "uint1"), "E0604"),
}  # fmt: skip

LONG = "a" * 2000
ACCEPTED: dict[str, str] = {
    "long names": f'T.prim_func {LONG}f({LONG}: T.Buffer((32,), "float32"), {LONG}b: T.Buffer((32,), "float32")):\n'
    + IN_THREADS + f"    {LONG}b[tx] = {LONG}[tx]\n",
    "odd names": 'T.prim_func f(é_1: T.Buffer((32,), "float32"), entry: T.Buffer((32,), "float32")):\n'
    + IN_THREADS.replace("tx", "ptx_kernel") + "    entry[ptx_kernel] = é_1[ptx_kernel]\n",
    "names of PTX": 'T.prim_func ret(reg: T.Buffer((32,), "float32"), param: T.Buffer((32,), "float32")):\n'
    + IN_THREADS.replace("tx", "tid") + "    param[tid] = reg[tid]\n",
    **{
        f"a symbol with {what}": HEAD.format("float32") + f'    T.func_attr({{"global_symbol": "{symbol}"}})\n' + IN_THREADS
        + "    B[tx] = A[tx]\n"
        for what, symbol in (("a quote", 'a\\"; .entry b'), ("a line", "a\\n.entry b()"), ("a zero", "a\\x00b"), ("nothing", ""))
    },
    "integers of four bits": store('A[tx] + T.Cast("int4", 1)', "int4"),
    "floats of four bits": store("A[tx]", "float4_e2m1fn"),
    "a sum of many": store("+".join(["A[tx]"] * 2000)),
    "a vector of many": HEAD.format("float32").replace("32,", "4096,")
    + '    for i in T.thread_binding(1, thread="threadIdx.x"):\n        for j in T.vectorized(4096):\n            B[j] = A[j]\n',
    "a loop to be written out of many": body(
        'for i in T.thread_binding(1, thread="threadIdx.x"):', "    for j in T.unroll(1000000):", "        B[j % 32] = A[j % 7]"),
    "text of LLVM": body('with T.attr(0, "pragma_import_llvm", "define void @f()"):', f"    {T}", "    B[tx] = A[tx]"),
}  # fmt: skip


def _in_a_process(text: str) -> str:
    """Return what compiling `text` says, in a process that LLVM may end."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            ptx = tvms.emit(tvms.parse(text), "ptx", "cuda -arch=sm_80")
            said = "compiled" if isinstance(ptx, str) and ".entry" in ptx else "nothing"
        except tvms.TvmsError as problem:
            found = problem.diagnostics[0]
            said = f"{found.code} {'at a place' if found.span else 'nowhere'} {found.message}"
        except BaseException as problem:
            said = f"{type(problem).__name__}: {problem}"
        os.write(writing, said.encode())
        sys.stderr.flush()
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as said:
        heard = said.read()
    _, status = os.waitpid(child, 0)
    assert status == 0, f"the process ended with {status}"
    return heard


@pytest.mark.parametrize("name", REFUSED)
def test_is_refused_where_it_stands(name: str) -> None:
    text, code = REFUSED[name]
    heard = _in_a_process(text)
    assert re.match(rf"{code} at a place \S", heard), heard


@pytest.mark.parametrize("name", ACCEPTED)
def test_odd_programs_are_compiled(name: str) -> None:
    assert _in_a_process(ACCEPTED[name]) == "compiled"


def test_there_are_many() -> None:
    assert len(REFUSED) + len(ACCEPTED) >= 80


def padded(size: int) -> str:
    """Return a kernel with three buffers in shared memory, which start at multiples of 128 bytes."""
    sizes = enumerate((1, size, 1))
    return body(
        T, *(f'S{i} = T.alloc_buffer(({size},), "float32", scope="shared")' for i, size in sizes),
        "S0[0] = A[tx]", "S1[tx] = A[tx]", "S2[0] = A[tx]", "B[tx] = S0[0] + S1[31 - tx] + S2[0]",
    )  # fmt: skip


def test_shared_memory_is_counted_with_its_alignment() -> None:
    """The assembler places each buffer at its alignment, and rejects what does not fit then."""
    ptx, tool = tvms.emit(tvms.parse(padded(12224)), "ptx", "cuda -arch=sm_80"), find_ptxas()
    assert isinstance(ptx, str)
    assert tool is None or assemble(ptx, "sm_80", tool).image
    with pytest.raises(tvms.TvmsError) as found:
        tvms.emit(tvms.parse(padded(12285)), "ptx", "cuda -arch=sm_80")
    (diagnostic,) = found.value.diagnostics
    assert (diagnostic.code, diagnostic.message) == (
        "E0614", "kernel 'main' needs 49268 bytes of shared memory; the limit is 49152",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("name", "help"),
    [
        ("too much shared memory", 'make its tiles smaller, or allocate them in scope "shared.dyn"'),
        ("too much memory of a thread", "make its tiles smaller"),
        ("shared memory of a dynamic size", "give it a constant size that is not negative"),
        ("memory of a dynamic size", "give it a constant size that is not negative"),
    ],
)
def test_the_simulation_has_the_memory_of_the_gpu(name: str, help: str) -> None:
    text, code = REFUSED[name]
    for call in (
        lambda: tvms.emit(tvms.parse(text), "ptx", "cuda -arch=sm_80"),
        lambda: tvms.compile(tvms.parse(text), target="cuda -arch=sm_80 -simulate=each"),
    ):
        with pytest.raises(tvms.TvmsError) as found:
            call()
        (diagnostic,) = found.value.diagnostics
        assert (diagnostic.code, diagnostic.help) == (code, help)
