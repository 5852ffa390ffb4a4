"""Realistic mistakes in loop functions: axes, predicates, buffers, casts, threads, intrinsics, attributes."""

from __future__ import annotations

import pytest
from mistakes import Mistake, check_mistake, diagnostics, each_mistake, mistakes

BLOCKS = """\
T.prim_func main(a: T.handle, b: T.handle, c: T.handle, n: T.int32):
    A = T.match_buffer(a, (n, 64), "float16")
    B = T.match_buffer(b, (64,), "float32", align=64)
    C = T.match_buffer(c, (n,), "float32")
    T.func_attr({"global_symbol": "main", "tir.noalias": True})
    D = T.alloc_buffer((n, 64), "float32", scope="local")
    for i in T.serial(n):
        for j0, j1 in T.grid(8, 10):
            with T.block("scale"):
                vi = T.axis.spatial(n, i)
                vj = T.axis.spatial(64, j0 * 10 + j1)
                T.where(j0 * 10 + j1 < 64)
                T.reads(A[vi, vj], B[vj])
                T.writes(D[vi, vj])
                T.block_attr({"pragma": "x"})
                D[vi, vj] = T.Cast("float32", A[vi, vj]) * B[vj]
    for i in T.parallel(n):
        for k in range(64):
            with T.block("sum"):
                vi = T.axis.S(n, i)
                vk = T.axis.R(64, k)
                with T.init():
                    C[vi] = T.float32(0)
                C[vi] = C[vi] + T.if_then_else(vk < 60, D[vi, vk], T.float32(0))
"""
THREADS = """\
T.prim_func main(A: T.Buffer((256, 128), "float32"), B: T.Buffer((256, 128), "float32")):
    for bx in T.thread_binding(256, thread="blockIdx.x"):
        tile = T.alloc_shared((128,), "float32")
        for tx in T.thread_binding(32, thread="threadIdx.x"):
            for v in T.vectorized(4):
                tile[tx * 4 + v] = A[bx, tx * 4 + v]
            T.tvm_storage_sync("shared")
            for v in T.unroll(4):
                B[bx, tx * 4 + v] = tile[127 - (tx * 4 + v)] * T.rsqrt(T.float32(2))
"""
SCALARS = """\
T.prim_func main(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "int32"), n: T.int64, s: T.float32):
    total = T.alloc_local((1,), "float32")
    total[0] = T.float32(0)
    assert n > T.int64(0), "n is positive"
    for i in range(64):
        x: T.float32 = A[i] * s
        if B[i] % 2 == 0 and i < 32:
            total[0] = total[0] + T.Select(x > T.float32(0), x, -x)
        elif B[i] // 4 > 1:
            total[0] += T.pow(x, T.float32(2))
        else:
            total[0] = T.min(total[0], x)
        while B[i] > 100:
            B[i] = B[i] >> 1
    T.evaluate(T.call_extern("int32", "report", total[0]))
"""
BLOCK_MISTAKES = mistakes(
    BLOCKS,
    ("T.axis.spatial(n, i)", "T.axis.spatial(i)", "E0105", "T.axis.spatial(i)", "T.axis.spatial(dom, binding"),
    ("T.axis.spatial(n, i)", "T.axis.spatial(i, n)", "E0415", "T.axis.spatial(i, n)", "the domain comes before the value: T.axis.spatial(extent, i)"),
    ("T.axis.spatial(n, i)", "T.axis.spacial(n, i)", "E0103", "spacial", "spatial"),
    ("T.axis.spatial(n, i)", "T.axis.parallel(n, i)", "E0103", "parallel", "T.axis.spatial"),
    ("T.axis.spatial(n, i)", "T.axis(n, i)", "E0207", "T.axis", "T.axis.spatial"),
    ("T.axis.spatial(n, i)", "T.spatial(n, i)", "E0103", "spatial", "T.axis.spatial"),
    ("vi = T.axis.spatial(n, i)", "vi = i", "E0404", "vi = i", "bind it to an axis of the block, and use that"),
    ("T.axis.R(64, k)", "T.axis.S(64, k)", "E0412", "C[vi] = T.float32(0)", "R"),
    ("T.axis.R(64, k)", "T.axis.reduction(64, k)", "E0103", "reduction", "T.axis.reduce"),
    ("T.axis.R(64, k)", "T.reduce_axis(64, k)", "E0103", "reduce_axis", "T.axis.reduce"),
    ("T.axis.R(64, k)", "T.axis.R(32, k)", "E0415", "T.axis.R(32, k)", "bind it to values of its domain: T.where(…) leaves out the o"),
    ("T.axis.R(64, k)", "te.reduce_axis((0, 64))", "E0101", "te", "a text has no tensor expressions: n = T.int64() declares a s"),
    ("vk = T.axis.R(64, k)", "vi = T.axis.R(64, k)", "E0211", "vi", "name"),
    ("T.where(j0 * 10 + j1 < 64)", "T.where(vj < 64)", "E0401", "vj < 64", "use the loop variables that the axis is bound to"),
    ("T.where(j0 * 10 + j1 < 64)", "T.where(j0 * 10 + j1)", "E0415", "j0 * 10 + j1", "T.where(…)"),
    ("T.where(j0 * 10 + j1 < 64)", "T.predicate(j0 * 10 + j1 < 64)", "E0103", "predicate", "T.where"),
    ("T.where(j0 * 10 + j1 < 64)", "where(j0 * 10 + j1 < 64)", "E0101", "where", "T.where"),
    ("                T.where(j0 * 10 + j1 < 64)\n", "", "E0415", "j0 * 10 + j1", "T.where"),
    ("T.reads(A[vi, vj], B[vj])", "T.reads(A, B)", "E0202", "A", "A["),
    ("T.reads(A[vi, vj], B[vj])", "T.reads(A[vi, vj:vj + 1, 0], B[vj])", "E0235", "A[vi, vj:vj + 1, 0]", "give one index for each dimension"),
    ("T.writes(D[vi, vj])", "T.write(D[vi, vj])", "E0103", "write", "writes"),
    ("T.writes(D[vi, vj])", "T.writes(D[i, vj])", "E0404", "D[i, vj]", "bind it to an axis of the block, and use that"),
    ('T.block_attr({"pragma": "x"})', 'T.block_attr("pragma", "x")', "E0105", '"x"', "write T.block_attr(attrs)"),
    ('T.block_attr({"pragma": "x"})', 'T.block_attrs({"pragma": "x"})', "E0103", "block_attrs", "block_attr"),
    ('T.block_attr({"pragma": "x"})', 'T.block_attr({pragma: "x"})', "E0101", "pragma", "define it above, or correct its spelling"),
    ('T.block_attr({"pragma": "x"})', 'T.block_attr(pragma="x")', "E0105", 'pragma="x"', "write T.block_attr(attrs)"),
    ('T.Cast("float32", A[vi, vj])', 'T.cast("float32", A[vi, vj])', "E0202", '"float32"', 'T.cast takes the value first: T.cast(x, "float32")'),
    ('T.Cast("float32", A[vi, vj])', 'T.Cast(A[vi, vj], "float32")', "E0202", "A[vi, vj]", 'write a dtype, such as "float32": a shape is one tuple, as ('),
    ('T.Cast("float32", A[vi, vj])', "T.Cast(float32, A[vi, vj])", "E0101", "float32", "did you mean 'T.float32'?"),
    ('T.Cast("float32", A[vi, vj])', 'T.Cast("fp32", A[vi, vj])', "E0202", '"fp32"', "float32"),
    ('T.Cast("float32", A[vi, vj])', 'A[vi, vj].to("float32")', "E0103", "A[vi, vj].to", "astype"),
    ('T.Cast("float32", A[vi, vj])', "(float)A[vi, vj]", "E0013", ")", 'write T.Cast("float32", …)'),
    ("T.if_then_else(vk < 60, D[vi, vk], T.float32(0))", "(vk < 60 ? D[vi, vk] : T.float32(0))", "E0013", "?", "write `a if condition else b`"),
    ("T.if_then_else(vk < 60, D[vi, vk], T.float32(0))", "T.if_then_else(vk < 60, D[vi, vk])", "E0105", "T.if_then_else(vk < 60, D[vi, vk])", "write T.if_then_else(cond, t, f, dtype=…)"),
    ("T.if_then_else(vk < 60, D[vi, vk], T.float32(0))", "T.where(vk < 60, D[vi, vk], T.float32(0))", "E0105", "D[vi, vk]", "T.if_then_else"),
    ("T.if_then_else(vk < 60, D[vi, vk], T.float32(0))", "D[vi, 0:64]", "E0230", "C[vi] = C[vi] + D[vi, 0:64]", "store one element: give each index as a number, not as a sli"),
    ("T.if_then_else(vk < 60, D[vi, vk], T.float32(0))", "T.sum(D[vi, vk], axis=vk)", "E0103", "sum", "reduction axis"),
    ('T.match_buffer(c, (n,), "float32")', 'T.match_buffer(c, n, "float32", "local")', "E0202", '"local"', 'name the argument: scope="local"'),
    ('T.match_buffer(c, (n,), "float32")', 'T.match_buffer(C, (n,), "float32")', "E0101", "C", "c"),
    ('T.match_buffer(c, (n,), "float32")', 'T.match_buffer(c, (m,), "float32")', "E0101", "m", "define it above, or correct its spelling"),
    ('T.match_buffer(c, (n,), "float32")', 'T.match_buffer(n, (n,), "float32")', "E0202", "n", "T.handle"),
    ('T.match_buffer(c, (n,), "float32")', 'T.match_buffer((n,), "float32")', "E0202", '"float32"', ""),
    ('T.match_buffer(c, (n,), "float32")', 'T.match_buffer(c, (n,), dtpye="float32")', "E0105", 'dtpye="float32"', "dtype"),
    ('scope="local")', 'scope="lokal")', "E0418", '"lokal"', "local"),
    ('scope="local")', 'scope="register")', "E0418", '"register"', "local"),
    ('scope="local")', "scope=local)", "E0101", "local", '"local"'),
    ('T.func_attr({"global_symbol": "main", "tir.noalias": True})', 'T.func_attrs({"global_symbol": "main"})', "E0103", "func_attrs", "func_attr"),
    ('"tir.noalias": True', '"tir.noalias": true', "E0101", "true", "True"),
    ('"tir.noalias": True', '"tir.no_alias": True', "E0466", '"tir.no_alias"', "tir.noalias"),
    ('"tir.noalias": True', '"tir.noalias" = True', "E0008", "=", ":"),
    ("for i in T.parallel(n):", "for i in T.prallel(n):", "E0103", "prallel", "parallel"),
    ("for i in T.parallel(n):", "for i in prange(n):", "E0101", "prange", "T.parallel"),
    ('with T.block("sum"):', 'T.block("sum"):', "E0008", 'T.block("sum")', "with"),
    ("with T.init():\n                    C[vi] = T.float32(0)\n", "C[vi] = T.float32(0)\n", "E0423", "C[vi] = T.float32(0)", "T.init"),
    ("with T.init():\n                    C[vi]", "with T.init():\n                C[vi]", "E0014", ":", "write its body, or `pass`"),
)  # fmt: skip
THREAD_MISTAKES = mistakes(
    THREADS,
    ('thread="blockIdx.x"', 'thread="blockIdx.w"', "E0416", '"blockIdx.w"', "blockIdx.x"),
    ('thread="blockIdx.x"', 'thread="blockidx.x"', "E0416", '"blockidx.x"', "blockIdx.x"),
    ('thread="blockIdx.x"', "thread=blockIdx.x", "E0101", "blockIdx", 'bind a loop to it: S.bind(loop, "threadIdx.x"), or T.thread_'),
    ('T.thread_binding(32, thread="threadIdx.x")', "T.thread_binding(32)", "E0105", "T.thread_binding(32)", "thread="),
    ('T.thread_binding(32, thread="threadIdx.x")', 'T.thread_bind(32, thread="threadIdx.x")', "E0103", "thread_bind", "thread_binding"),
    ('thread="threadIdx.x"', 'thread="vthread.q"', "E0416", '"vthread.q"', "bind a loop to one of blockIdx.x, blockIdx.y, blockIdx.z, th"),
    ("T.vectorized(4)", "T.vectorize(4)", "E0103", "vectorize", "vectorized"),
    ("T.unroll(4)", "T.unrolled(4)", "E0103", "unrolled", "unroll"),
    ("T.unroll(4)", "T.unroll(4, unroll=2)", "E0105", "unroll=2", "write T.unroll(start, stop=…, step=…, annotations=…)"),
    ('T.alloc_shared((128,), "float32")', 'T.shared((128,), "float32")', "E0103", "shared", "did you mean 'alloc_shared'?"),
    ('T.alloc_shared((128,), "float32")', 'T.alloc_buffer((128,), "float32", "shared")', "E0202", '"shared"', "scope"),
    ('T.alloc_shared((128,), "float32")', "__shared__ float tile[128]", "E0008", "float", "write an operator before it, or start a new line"),
    ('T.tvm_storage_sync("shared")', "__syncthreads()", "E0101", "__syncthreads", 'T.tvm_storage_sync("shared")'),
    ('T.tvm_storage_sync("shared")', "T.syncthreads()", "E0103", "syncthreads", "T.tvm_storage_sync"),
    ('T.tvm_storage_sync("shared")', "T.tvm_storage_sync(shared)", "E0101", "shared", '"shared"'),
    ("T.rsqrt(T.float32(2))", "rsqrtf(2.0f)", "E0012", "2.0f", "T.float32"),
    ("T.rsqrt(T.float32(2))", "T.rsqrtf(T.float32(2))", "E0103", "rsqrtf", "rsqrt"),
    ("T.rsqrt(T.float32(2))", "T.rsqrt(2)", "E0443", "T.rsqrt(2)", "float"),
    ("tile[127 - (tx * 4 + v)]", "tile[128 - (tx * 4 + v)]", "E0414", "128 - (tx * 4 + v)", "keep the index from 0 to 127: bound the loop, or guard the a"),
    ("tile[127 - (tx * 4 + v)]", "tile[127 - (tx * 4 + v)", "E0009", "[", "]"),
    ("tile[127 - (tx * 4 + v)]", "tile[-1]", "E0414", "-1", "127"),
    ("tile[127 - (tx * 4 + v)]", "tile[threadIdx.x]", "E0101", "threadIdx", 'bind a loop to it: S.bind(loop, "threadIdx.x"), or T.thread_'),
)  # fmt: skip
SCALAR_MISTAKES = mistakes(
    SCALARS,
    ("B[i] % 2 == 0 and i < 32", "B[i] % 2 == 0 & i < 32", "E0206", "0 & i", "put parentheses around each comparison, or join them by `and`"),
    ("B[i] % 2 == 0 and i < 32", "B[i] % 2 == 0 | i < 32", "E0206", "0 | i", "join them by `or`"),
    ("s: T.float32):", "s: T.float32) -> T.float32:", "E0468", "-> T.float32", "end it with `return value`, or remove the type"),
    ("T.pow(x, T.float32(2))", 'T.call_intrin("float32", "tir.warp_reduce", x)', "E0103", '"tir.warp_reduce"', "calls a C function"),
    ('assert n > T.int64(0), "n is positive"', "assert n > T.int64(0), n", "E0202", "n", "write it in quotes"),
    ('assert n > T.int64(0), "n is positive"', 'assert (n > T.int64(0), "n is positive")', "E0202", '(n > T.int64(0), "n is positive")', "remove the parentheses: `assert condition, message`"),
    ('assert n > T.int64(0), "n is positive"', 'while (n > T.int64(0), "n is positive"):\n        pass', "E0202", '(n > T.int64(0), "n is positive")', "write a value of the expected kind"),
    ('assert n > T.int64(0), "n is positive"', 'raise ValueError("n")', "E0013", "raise", "assert"),
    ('assert n > T.int64(0), "n is positive"', "print(n)", "E0101", "print", "tvms debug"),
    ("x: T.float32 = A[i] * s", 'x = T.var("float32", A[i] * s)', "E0202", "A[i] * s", "declare a variable with a value as x: T.float32 = …"),
    ("x: T.float32 = A[i] * s", "const x = A[i] * s", "E0013", "const x", "write x = …, or x: T.float32 = …"),
    ("x: T.float32 = A[i] * s", "let x = A[i] * s", "E0013", "let x", "write x = …, or x: T.float32 = …"),
    ("x: T.float32 = A[i] * s", "x: float32 = A[i] * s", "E0101", "float32", "T.float32"),
    ("x: T.float32 = A[i] * s", "x: T.float32 = A * s", "E0206", "A", "A["),
    ("x: T.float32 = A[i] * s", "x: T.float32 = A[i] * s;", "E0013", ";", "put each statement on a line of its own"),
    ("A[i] * s", "A[s] * s", "E0233", "s", "T.Cast"),
    ("A[i] * s", "A[64 - i] * s", "E0414", "64 - i", "keep the index from 0 to 63: bound the loop, or guard the ac"),
    ("A[i] * s", "A.load(i) * s", "E0103", "A.load", "vload"),
    ("A[i] * s", "A[i].sqrt() * s", "E0103", "A[i].sqrt", "T.sqrt"),
    ("A[i] * s", "len(A) * s", "E0202", "len(A)", "A.shape"),
    ("if B[i] % 2 == 0 and i < 32:", "if A[i]:", "E0406", "A[i]", "compare it with a value"),
    ("if B[i] % 2 == 0 and i < 32:", "if B[i] in (0, 2):", "E0013", "in", "=="),
    ("if B[i] % 2 == 0 and i < 32:", "if 0 <= i < 32", "E0008", "", ":"),
    ("if B[i] % 2 == 0 and i < 32:", "if A[i] % 2 == 0:", "E0233", "A[i]", 'cast it first, as in T.Cast("int32", value)'),
    ("elif B[i] // 4 > 1:", "elseif B[i] // 4 > 1:", "E0008", "elseif", "elif"),
    ("T.Select(x > T.float32(0), x, -x)", "T.select(x > T.float32(0), x, -x)", "E0103", "select", "Select"),
    ("T.Select(x > T.float32(0), x, -x)", "T.Abs(x)", "E0103", "Abs", "abs"),
    ("T.Select(x > T.float32(0), x, -x)", "fabs(x)", "E0101", "fabs", "T.fabs"),
    ("T.Select(x > T.float32(0), x, -x)", "T.relu(x)", "E0103", "relu", "T.max(x, "),
    ("T.pow(x, T.float32(2))", "T.power(x)", "E0103", "power", "did you mean 'pow'?"),
    ("T.pow(x, T.float32(2))", "T.float32x4(x)", "E0230", "total[0] += T.float32x4(x)", "store one element: give each index as a number, not as a sli"),
    ("T.min(total[0], x)", "T.min(total, x)", "E0202", "total", "total["),
    ("T.min(total[0], x)", "min(total[0], x, s)", "E0202", "min(total[0], x, s)", "T.min"),
    ("B[i] = B[i] >> 1", "B[i] = A[i] >> 1", "E0233", "A[i]", "T.Cast"),
    ("B[i] = B[i] >> 1", "continu", "E0101", "continu", "continue"),
    ('T.call_extern("int32", "report", total[0])', 'T.call_extern("report", total[0])', "E0202", '"report"', "dtype"),
    ('T.call_extern("int32", "report", total[0])', 'call_extern("int32", "report", total[0])', "E0101", "call_extern", "T.call_extern"),
    ('total = T.alloc_local((1,), "float32")', "total = T.float32(0)", "E0202", "total", 'only buffers have elements: total = T.alloc_buffer((1,), "fl'),
    ('total = T.alloc_local((1,), "float32")', "total = [0.0]", "E0202", "total", "T.alloc_buffer"),
    ('total = T.alloc_local((1,), "float32")', "total = np.zeros(1)", "E0101", "np", "T.alloc_buffer"),
    ("for i in range(64):", "for i in range(0, 64, 0):", "E0202", "0", "write a value of the expected kind"),
    ("for i in range(64):", "for i in 0..64:", "E0013", "0..64", "range"),
    ("for i in range(64):", "for i in enumerate(A):", "E0101", "enumerate", "range"),
    ("for i in range(64):", "for i in A:", "E0207", "A", "loop over range, T.serial, T.grid, T.parallel, T.vectorized,"),
    ("for i in range(64):", "for int i in range(64):", "E0013", "int i", "write for i in …"),
    ("s: T.float32)", "s: float)", "E0202", "float", "T.float32"),
    ("s: T.float32)", "s: T.float32 = 1.0)", "E0013", "s: T.float32 = 1.0", "pass the value in every call"),
    ("s: T.float32)", "s=1.0)", "E0013", "s=1.0", "pass the value in every call"),
    ("s: T.float32)", "float s)", "E0013", "float s", "write s: T.float32"),
    ("s: T.float32)", "s: T.Float32)", "E0103", "Float32", "float32"),
    ("s: T.float32)", "s: T.Buffer)", "E0105", "T.Buffer", "write T.Buffer(shape, dtype=…, data=…, strides=…, elem_offse"),
    ('A: T.Buffer((64,), "float32")', "A: T.Buffer((64), float32)", "E0101", "float32", "did you mean 'T.float32'?"),
    ('A: T.Buffer((64,), "float32")', 'A: T.Buffer(shape=(64,), type="float32")', "E0105", 'type="float32"', "dtype"),
)  # fmt: skip
MISTAKES = [*BLOCK_MISTAKES, *THREAD_MISTAKES, *SCALAR_MISTAKES]


@pytest.mark.parametrize("text", [BLOCKS, THREADS, SCALARS])
def test_the_programs_are_right(text: str) -> None:
    assert list(diagnostics(text)) == []


@each_mistake(MISTAKES)
def test_a_mistake_is_one_diagnostic(mistake: Mistake) -> None:
    check_mistake(mistake)
