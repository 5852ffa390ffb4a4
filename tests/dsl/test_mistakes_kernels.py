"""Realistic mistakes in kernels for GPUs, in softmax, convolutional networks and attention: each is one diagnostic."""

from __future__ import annotations

import pytest
from mistakes import Mistake, check_mistake, diagnostics, each_mistake, mistakes

GPU = """\
T.prim_func gemm(A: T.Buffer((256, 512), "float16"), B: T.Buffer((512, 128), "float16"), C: T.Buffer((256, 128), "float32")):
    A_shared = T.alloc_buffer((256, 512), "float16", scope="shared")
    acc = T.alloc_buffer((256, 128), "float32", scope="local")
    for by in T.thread_binding(16, thread="blockIdx.y"):
        for ty, k in T.grid(16, 512):
            with T.block("copy"):
                vy = T.axis.spatial(256, by * 16 + ty)
                vk = T.axis.spatial(512, k)
                A_shared[vy, vk] = A[vy, vk]
        for ty, tx in T.grid(16, 128):
            for k in T.serial(512):
                with T.block("update"):
                    vy = T.axis.spatial(256, by * 16 + ty)
                    vx = T.axis.spatial(128, tx)
                    vk = T.axis.reduce(512, k)
                    with T.init():
                        acc[vy, vx] = T.float32(0)
                    acc[vy, vx] = acc[vy, vx] + T.Cast("float32", A_shared[vy, vk] * B[vk, vx])
            with T.block("store"):
                vy = T.axis.spatial(256, by * 16 + ty)
                vx = T.axis.spatial(128, tx)
                C[vy, vx] = acc[vy, vx]

S.schedule fast(gemm):
    update = S.get_block("update")
    by, ty, tx, k = S.get_loops(update)
    k0, k1 = S.split(k, factors=[None, 8])
    S.unroll(k1)
    S.bind(tx, "threadIdx.x")
"""

SOFTMAX = """\
T.prim_func softmax(x: T.handle, y: T.handle, rows: T.int32):
    T.func_attr({"tir.noalias": True})
    X = T.match_buffer(x, (rows, 64), "float32")
    Y = T.match_buffer(y, (rows, 64), "float32")
    largest = T.alloc_buffer((rows,), "float32")
    total = T.alloc_buffer((rows,), "float32")
    for i, j in T.grid(rows, 64):
        with T.block("max"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                largest[vi] = T.float32("-inf")
            largest[vi] = T.max(largest[vi], X[vi, vj])
    for i, j in T.grid(rows, 64):
        with T.block("sum"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                total[vi] = T.float32(0)
            total[vi] = total[vi] + T.exp(X[vi, vj] - largest[vi])
    for i, j in T.grid(rows, 64):
        with T.block("divide"):
            vi, vj = T.axis.remap("SS", [i, j])
            Y[vi, vj] = T.exp(X[vi, vj] - largest[vi]) / total[vi]
"""

NETWORK = """\
I.ir_module Net:
    T.prim_func scale(A: T.Buffer((1, 16, 30, 30), "float32"), B: T.Buffer((1, 16, 30, 30), "float32")):
        for n, c, h, w in T.grid(1, 16, 30, 30):
            with T.block("scale"):
                vn, vc, vh, vw = T.axis.remap("SSSS", [n, c, h, w])
                B[vn, vc, vh, vw] = A[vn, vc, vh, vw] * T.float32(0.5)

    R.function main(x: R.Tensor((1, 3, 32, 32), "float32"), w1: R.Tensor((16, 3, 3, 3), "float32"), b1: R.Tensor((1, 16, 1, 1), "float32"), fc: R.Tensor((3600, 10), "float32")) -> R.Tensor((1, 10), "float32"):
        with R.dataflow():
            conv = R.nn.conv2d(x, w1, strides=[1, 1], padding=[0, 0, 0, 0])
            biased = R.add(conv, b1)
            act = R.nn.relu(biased)
            half = R.call_tir(Net.scale, (act,), out_sinfo=R.Tensor((1, 16, 30, 30), "float32"))
            pool = R.nn.max_pool2d(half, pool_size=[2, 2], strides=[2, 2])
            flat = R.reshape(pool, R.shape([1, 3600]))
            out = R.matmul(flat, fc)
            R.output(out)
        return out
"""

ATTENTION = """\
R.function attend(q: R.Tensor(("b", 8, "s", 64), "float32"), k: R.Tensor(("b", 8, "s", 64), "float32"), v: R.Tensor(("b", 8, "s", 64), "float32"), mask: R.Tensor(("s", "s"), "float32")) -> R.Tensor(("b", "s", 512), "float32"):
    b = T.int64()
    s = T.int64()
    with R.dataflow():
        kt = R.permute_dims(k, axes=[0, 1, 3, 2])
        scores = R.matmul(q, kt)
        scaled = R.multiply(scores, R.const(0.125, "float32"))
        masked = R.add(scaled, mask)
        weights = R.nn.softmax(masked, axis=-1)
        mixed = R.matmul(weights, v)
        order = R.permute_dims(mixed, axes=[0, 2, 1, 3])
        out = R.reshape(order, R.shape([b, s, 512]))
        R.output(out)
    return out
"""

IN_GPU = mistakes(
    GPU,
    ("A_shared = T.alloc_buffer((256, 512), \"float16\", scope=\"shared\")", "A_shared = T.alloc_shared((256, 512), \"fp16\")", "E0202", "\"fp16\"", "write float16"),
    ("scope=\"shared\"", "scope=\"share\"", "E0418", "\"share\"", "did you mean 'shared'?"),
    ("thread=\"blockIdx.y\"", "thread=\"blockIdx_y\"", "E0416", "\"blockIdx_y\"", "bind a loop to one of blockIdx.x, blockIdx.y, blockIdx.z, th"),
    ("T.thread_binding(16, thread=\"blockIdx.y\")", "T.thread_binding(\"blockIdx.y\", 16)", "E0202", "\"blockIdx.y\"", "write the extent first, and name the axis: T.thread_binding("),
    ("T.axis.reduce(512, k)", "T.axis.reduction(512, k)", "E0103", "reduction", "did you mean 'T.axis.reduce'?"),
    ("T.axis.reduce(512, k)", "T.axis.spatial(512, k)", "E0412", "acc[vy, vx] = T.float32(0)", "make the axis that is summed over a reduction: \"R\" in T.axis"),
    ("vy = T.axis.spatial(256, by * 16 + ty)", "vy = T.axis.spatial(by * 16 + ty)", "E0105", "T.axis.spatial(by * 16 + ty)", "write T.axis.spatial(dom, binding, dtype=…)"),
    ("vy = T.axis.spatial(256, by * 16 + ty)", "vy = T.axis.spatial(256, by * 32 + ty)", "E0415", "by * 32 + ty", "bind it to values of its domain: T.where(…) leaves out the o"),
    ("T.Cast(\"float32\", A_shared[vy, vk] * B[vk, vx])", "float(A_shared[vy, vk] * B[vk, vx])", "E0202", "float(A_shared[vy, vk] * B[vk, vx])", "write T.Cast(\"float32\", x) to convert an expression"),
    ("T.Cast(\"float32\", A_shared[vy, vk] * B[vk, vx])", "T.Cast(\"float32\", A_shared[vy, vk] * B[vx, vk])", "E0414", "B[vx, vk]", "keep the index from 0 to 127: bound the loop, or guard the a"),
    ("A_shared[vy, vk] = A[vy, vk]", "As[vy, vk] = A[vy, vk]", "E0101", "As", "did you mean 'A'?"),
    ("A_shared[vy, vk] = A[vy, vk]", "A_shared[vy][vk] = A[vy][vk]", "E0235", "A[vy]", "write one index for each dimension, in one pair of brackets:"),
    ("A_shared[vy, vk] = A[vy, vk]", "A_shared[vy * 512 + vk] = A[vy, vk]", "E0235", "A_shared[vy * 512 + vk]", "write one index for each dimension, in one pair of brackets:"),
    ("with T.init():", "if k == 0:", "E0404", "k == 0", "bind it to an axis of the block, and use that"),
    ("with T.init():", "with T.Init():", "E0103", "Init", "did you mean 'init'?"),
    ("with T.init():", "T.init():", "E0008", "T.init()", "write `with` before it"),
    ("S.bind(tx, \"threadIdx.x\")", "S.bind(tx, \"thread.x\")", "E0525", "\"thread.x\"", "did you mean 'threadIdx.x'?"),
    ("S.bind(tx, \"threadIdx.x\")", "S.bind(\"threadIdx.x\", tx)", "E0501", "\"threadIdx.x\"", "write S.bind(loop, thread_axis)"),
    ("by, ty, tx, k = S.get_loops(update)", "ty, tx, k = S.get_loops(update)", "E0204", "S.get_loops(update)", "bind 4 names"),
    ("S.split(k, factors=[None, 8])", "S.split(k, 8)", "E0501", "8", "write factors=[None, 8]"),
    ("S.split(k, factors=[None, 8])", "S.tile(k, [None, 8])", "E0103", "tile", "split each loop with S.split, and put the parts in order wit"),
    ("S.split(k, factors=[None, 8])", "S.split(k, factors=[None, None])", "E0506", "[None, None]", "give all factors but one"),
    ("S.get_block(\"update\")", "S.get_block(\"matmul\")", "E0502", "\"matmul\"", "use one of copy, update, store"),
    ("S.unroll(k1)", "S.unrolled(k1)", "E0103", "unrolled", "did you mean 'unroll'?"),
    ("S.unroll(k1)", "T.unroll(k1)", "E0201", "T.unroll(k1)", "write S.unroll"),
)  # fmt: skip

IN_SOFTMAX = mistakes(
    SOFTMAX,
    ("X = T.match_buffer(x, (rows, 64), \"float32\")", "X = T.match_buffer((rows, 64), \"float32\")", "E0202", "\"float32\"", "write the parameter first: T.match_buffer(a, (128,), \"float3"),
    ("X = T.match_buffer(x, (rows, 64), \"float32\")", "X = T.match_buffer(x, (row, 64), \"float32\")", "E0101", "row", "did you mean 'rows'?"),
    ("rows: T.int32", "rows: int32", "E0101", "int32", "did you mean 'T.int32'?"),
    ("T.float32(\"-inf\")", "-T.inf(\"float32\")", "E0103", "inf", "write T.float32(\"inf\")"),
    ("T.float32(\"-inf\")", "-inf", "E0101", "inf", "write T.float32(\"nan\"), T.float32(\"inf\") or T.float32(\"-inf\""),
    ("T.float32(\"-inf\")", "T.float32.min", "E0103", "T.float32.min", "write T.min_value(\"float32\")"),
    ("T.max(largest[vi], X[vi, vj])", "max(largest[vi], X[vi, vj], 0)", "E0202", "max(largest[vi], X[vi, vj], 0)", "write T.max(a, b)"),
    ("T.max(largest[vi], X[vi, vj])", "T.fmax(largest[vi], X[vi, vj])", "E0103", "fmax", "did you mean 'T.max'?"),
    ("T.exp(X[vi, vj] - largest[vi])", "exp(X[vi, vj] - largest[vi])", "E0101", "exp", "did you mean 'T.exp'?"),
    ("T.exp(X[vi, vj] - largest[vi])", "T.exp(X[vi, vj] - largest[vi, 0])", "E0235", "largest[vi, 0]", "give one index for each dimension"),
    ("T.exp(X[vi, vj] - largest[vi])", "T.exp(X[vi, vj] - largest)", "E0206", "largest", "apply it to numbers: load an element of a buffer first, as i"),
    ("T.axis.remap(\"SR\", [i, j])", "T.axis.remap(\"SR\", i, j)", "E0202", "i", "write it in brackets, even if it is one: [i]"),
    ("T.axis.remap(\"SR\", [i, j])", "T.axis.remap(\"S\", \"R\", [i, j])", "E0202", "\"R\"", "write the kinds as one string, and the bindings as one list:"),
    ("T.axis.remap(\"SR\", [i, j])", "T.axis.remap(\"sr\", [i, j])", "E0203", "\"sr\"", "write one letter for each axis: S for spatial, R for reducti"),
    ("T.axis.remap(\"SR\", [i, j])", "T.axis.remap(\"SS\", [i, j])", "E0412", "largest[vi] = T.float32(\"-inf\")", "make the axis that is summed over a reduction: \"R\" in T.axis"),
    ("for i, j in T.grid(rows, 64):", "for i in range(rows), j in range(64):", "E0013", "in", "write one loop over both: for i, j in T.grid(8, 8):"),
    ("for i, j in T.grid(rows, 64):", "for (i, j) in T.grid([rows, 64]):", "E0204", "[rows, 64]", "write the extents without brackets: T.grid(16, 16)"),
    ("T.func_attr({\"tir.noalias\": True})", "T.func_attr(\"tir.noalias\", True)", "E0105", "True", "write the attributes as a dict: T.func_attr({\"tir.noalias\": "),
    ("/ total[vi]", "// total[vi]", "E0233", "T.exp(X[vi, vj] - largest[vi])", "write / for floats, or T.floor(a / b)"),
)  # fmt: skip

IN_NETWORK = mistakes(
    NETWORK,
    ("R.nn.conv2d(x, w1, strides=[1, 1], padding=[0, 0, 0, 0])", "R.nn.conv2d(x, w1, stride=[1, 1], padding=[0, 0, 0, 0])", "E0105", "stride=[1, 1]", "did you mean 'strides'?"),
    ("R.nn.conv2d(x, w1, strides=[1, 1], padding=[0, 0, 0, 0])", "R.conv2d(x, w1, strides=[1, 1], padding=[0, 0, 0, 0])", "E0301", "R.conv2d", "did you mean 'R.nn.conv2d'?"),
    ("R.nn.conv2d(x, w1, strides=[1, 1], padding=[0, 0, 0, 0])", "R.nn.conv2d(x, w1, strides=[1, 1], padding=[1, 1, 1])", "E0321", "R.nn.conv2d(x, w1, strides=[1, 1], padding=[1, 1, 1])", "see docs/operators.md for the values of each argument"),
    ("w1: R.Tensor((16, 3, 3, 3), \"float32\")", "w1: R.Tensor((16, 4, 3, 3), \"float32\")", "E0326", "R.nn.conv2d(x, w1, strides=[1, 1], padding=[0, 0, 0, 0])", "check the layouts and the groups"),
    ("R.nn.max_pool2d(half, pool_size=[2, 2], strides=[2, 2])", "R.nn.maxpool2d(half, pool_size=[2, 2], strides=[2, 2])", "E0301", "R.nn.maxpool2d", "did you mean 'R.nn.max_pool2d'?"),
    ("R.nn.max_pool2d(half, pool_size=[2, 2], strides=[2, 2])", "R.nn.max_pool2d(half, kernel_size=[2, 2], strides=[2, 2])", "E0105", "kernel_size=[2, 2]", "write R.nn.max_pool2d(data, pool_size=…, strides=…, padding="),
    ("R.reshape(pool, R.shape([1, 3600]))", "R.reshape(pool, R.shape([1, 3200]))", "E0326", "R.reshape(pool, R.shape([1, 3200]))", "keep the product of the dimensions, or write -1 for one"),
    ("R.reshape(pool, R.shape([1, 3600]))", "R.flatten(pool, 1)", "E0105", "1", "write R.flatten(x)"),
    ("R.reshape(pool, R.shape([1, 3600]))", "pool.reshape(1, -1)", "E0103", "pool.reshape", "write R.reshape(pool, …)"),
    ("R.call_tir(Net.scale, (act,), out_sinfo=R.Tensor((1, 16, 30, 30), \"float32\"))", "R.call_tir(Net.scale, act)", "E0105", "R.call_tir(Net.scale, act)", "write R.call_tir(gvar, args, out_sinfo, tir_vars=…)"),
    ("R.call_tir(Net.scale, (act,), out_sinfo=R.Tensor((1, 16, 30, 30), \"float32\"))", "Net.scale(act)", "E0322", "R.nn.max_pool2d(half, pool_size=[2, 2], strides=[2, 2])", "a loop function returns nothing: call it by R.call_tir(f, (x"),
    ("R.call_tir(Net.scale, (act,), out_sinfo=R.Tensor((1, 16, 30, 30), \"float32\"))", "R.call_tir(Net.scale, (act, act), out_sinfo=R.Tensor((1, 16, 30, 30), \"float32\"))", "E0435", "R.call_tir(Net.scale, (act, act), out_sinfo=R.Tensor((1, 16, 30, 30), \"float32\"))", "pass one argument for each input, and one out_sinfo for each"),
    ("            R.output(out)\n", "", "E0432", "out", "add it to the block's R.output(…)"),
    ("return out", "return act", "E0438", "R.Tensor((1, 10), \"float32\")", "return 'out', which the block outputs"),
    ("R.output(out)", "return out", "E0306", "return out", "write R.output(…) at the end of the dataflow block, and retu"),
    ("fc: R.Tensor((3600, 10), \"float32\")", "fc: R.Tensor((10, 3600), \"float32\")", "E0326", "R.matmul(flat, fc)", "the last dimension of x1 must equal the second to last of x2"),
    ("R.add(conv, b1)", "conv + b2", "E0101", "b2", "define it above, or correct its spelling"),
)  # fmt: skip

IN_ATTENTION = mistakes(
    ATTENTION,
    ("R.permute_dims(k, axes=[0, 1, 3, 2])", "R.transpose(k, axes=[0, 1, 3, 2])", "E0301", "R.transpose", "did you mean 'R.permute_dims'?"),
    ("R.permute_dims(k, axes=[0, 1, 3, 2])", "R.permute_dims(k, axes=[0, 1, 3])", "E0323", "R.permute_dims(k, axes=[0, 1, 3])", "list every axis once"),
    ("R.permute_dims(k, axes=[0, 1, 3, 2])", "R.permute_dims(k, 0, 1, 3, 2)", "E0105", "1", "write the axes as one list: R.permute_dims(x, axes=[1, 0])"),
    ("R.const(0.125, \"float32\")", "R.const(0.125, \"float16\")", "E0324", "R.multiply(scores, R.const(0.125, \"float16\"))", "convert one: R.astype(…, \"float32\")"),
    ("R.multiply(scores, R.const(0.125, \"float32\"))", "R.mul(scores, R.const(0.125, \"float32\"))", "E0301", "R.mul", "did you mean 'R.multiply'?"),
    ("R.multiply(scores, R.const(0.125, \"float32\"))", "scores / 8", "E0206", "8", "write R.const(8, \"float32\") for a tensor, R.prim_value(…) fo"),
    ("R.nn.softmax(masked, axis=-1)", "R.nn.softmax(masked, dim=-1)", "E0105", "dim=-1", "write R.nn.softmax(data, axis=…)"),
    ("R.nn.softmax(masked, axis=-1)", "R.nn.softmax(masked, axis=4)", "E0325", "R.nn.softmax(masked, axis=4)", "give an axis from -4 to 3"),
    ("R.nn.softmax(masked, axis=-1)", "R.softmax(masked)", "E0301", "R.softmax", "did you mean 'R.nn.softmax'?"),
    ("R.shape([b, s, 512])", "R.shape([b, s, h])", "E0101", "h", "define it above, or correct its spelling"),
    ("R.shape([b, s, 512])", "[b, s, 8 * 32]", "E0438", "R.Tensor((\"b\", \"s\", 512), \"float32\")", "write R.Tensor((b, s, 256), \"float32\")"),
    ("    b = T.int64()\n", "    b = T.int32()\n", "E0321", "\"b\"", "declare its variables with T.int64(), or write T.Cast(\"int64"),
    ("mask: R.Tensor((\"s\", \"s\"), \"float32\")", "mask: R.Tensor([\"s\", \"s\"], float32)", "E0101", "float32", "write \"float32\""),
    ("with R.dataflow():", "with R.Dataflow():", "E0207", "R.Dataflow()", "write with R.dataflow():"),
    ("with R.dataflow():", "with R.dataflow:", "E0207", "R.dataflow", "write with R.dataflow():"),
    ("mixed = R.matmul(weights, v)", "mixed = weights @ v @ v", "E0013", "@", "multiply tensors with R.matmul, elements in a loop"),
    ("R.function attend", "R.func attend", "E0103", "func", "did you mean 'function'?"),
    ("R.function attend", "def attend", "E0107", "attend", "write @T.prim_func or @R.function above it"),
)  # fmt: skip


@pytest.mark.parametrize("text", [GPU, SOFTMAX, NETWORK, ATTENTION])
def test_the_programs_have_no_mistakes(text: str) -> None:
    assert diagnostics(text) == []


@each_mistake([*IN_GPU, *IN_SOFTMAX, *IN_NETWORK, *IN_ATTENTION])
def test_a_mistake_is_one_diagnostic(mistake: Mistake) -> None:
    check_mistake(mistake)
