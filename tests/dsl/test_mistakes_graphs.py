"""Realistic mistakes in graph functions, modules, the dialects of TVM, schedules, and layout."""

from __future__ import annotations

import pytest
from mistakes import Mistake, check_mistake, diagnostics, each_mistake, mistakes

SHAPES = """\
R.function main(x: R.Tensor(("n", 64), "float32"), w: R.Tensor((32, 64), "float32"), b: R.Tensor((32,), "float32")) -> R.Tuple(R.Tensor(("n", 32), "float32"), R.Shape(["n", 32])):
    n = T.int64()
    R.func_attr({"num_input": 1})
    with R.dataflow():
        wt = R.permute_dims(w, axes=[1, 0])
        lv = R.matmul(x, wt, out_dtype="float32")
        lv1 = R.add(lv, b)
        s = R.shape([n, 32])
        parts = R.split(lv1, indices_or_sections=2, axis=1)
        left = parts[0]
        right = parts[1]
        joined = R.concat((left, right), axis=1)
        probs = R.nn.softmax(joined, axis=-1)
        y = R.reshape(probs, s)
        R.output(y, s)
    return (y, s)
"""
IMAGES = """\
R.function main(x: R.Tensor((1, 3, 32, 32), "float32"), w: R.Tensor((8, 3, 3, 3), "float32"), g: R.Tensor((8,), "float32"), c: R.Tensor((), "bool")) -> R.Tensor((1,), "float16"):
    y = R.nn.conv2d(x, w, strides=[1, 1], padding=[1, 1], data_layout="NCHW", kernel_layout="OIHW")
    z = R.nn.max_pool2d(y, pool_size=[2, 2], strides=[2, 2])
    if c:
        r = R.nn.relu(z)
    else:
        r = R.nn.gelu(z)
    m = R.mean(r, axis=[2, 3], keepdims=False)
    i = R.argmax(m, axis=1)
    e = R.take(g, i, axis=0)
    h = R.astype(e, "float16")
    u = R.call_dps_packed("my.function", (h,), out_sinfo=R.Tensor((1,), "float16"))
    return u
"""
TVM = """\
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T


@I.ir_module
class Module:
    @T.prim_func
    def scale(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        T.func_attr({"tir.noalias": T.bool(True)})
        for i in range(8):
            with T.block("scale"):
                vi = T.axis.spatial(8, i)
                B[vi] = A[vi] * T.float32(2)

    @R.function
    def main(x: R.Tensor((8,), dtype="float32")) -> R.Tensor((8,), dtype="float32"):
        cls = Module
        with R.dataflow():
            y = R.call_tir(cls.scale, (x,), out_sinfo=R.Tensor((8,), dtype="float32"))
            z = R.emit_te(y) if False else y
            R.output(z)
        return z
"""
TVM = TVM.replace("            z = R.emit_te(y) if False else y\n", "            z = R.add(y, x)\n")
STEPS = """\
T.prim_func main(A: T.Buffer((64, 64), "float32"), B: T.Buffer((64, 64), "float32"), C: T.Buffer((64, 64), "float32")):
    D = T.alloc_buffer((64, 64), "float32")
    for i, j, k in T.grid(64, 64, 64):
        with T.block("matmul"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                D[vi, vj] = T.float32(0)
            D[vi, vj] = D[vi, vj] + A[vi, vk] * B[vk, vj]
    for i, j in T.grid(64, 64):
        with T.block("relu"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = T.max(D[vi, vj], T.float32(0))

S.schedule gpu(main, tile=8, target="cuda"):
    block = S.get_block("matmul")
    relu = S.get_block("relu")
    i, j, k = S.get_loops(block)
    bi, ti = S.split(i, factors=[None, tile])
    bj, tj = S.split(j, factors=[None, tile])
    ko, ki = S.split(k, factors=[16, 4])
    S.reorder(bi, bj, ti, tj, ko, ki)
    S.bind(bi, "blockIdx.y")
    S.bind(bj, "blockIdx.x")
    S.bind(ti, "threadIdx.y")
    S.bind(tj, "threadIdx.x")
    S.reverse_compute_at(relu, tj)
    S.set_scope(block, 0, "local")
    copy = S.cache_read(block, 0, "local")
    S.compute_at(copy, ko)
    init = S.decompose_reduction(block, ko)
    S.unroll(ki)
    S.annotate(ki, ann_key="hint", ann_val=1)
"""
SHAPE_MISTAKES = mistakes(
    SHAPES,
    ("n = T.int64()", 'n = T.var("int64")()', "E0207", 'T.var("int64")', ""),
    ("n = T.int64()", "n = 4", "E0321", "n", ""),
    ('R.func_attr({"num_input": 1})', 'T.func_attr({"num_input": 1})', "E0201", 'T.func_attr({"num_input": 1})', "R.func_attr"),
    ('R.func_attr({"num_input": 1})', "R.func_attr(num_input=1)", "E0105", "num_input=1", "write R.func_attr(attrs)"),
    ("axes=[1, 0])", "axes=[1, 1])", "E0325", "R.permute_dims(w, axes=[1, 1])", "each axis"),
    ("axes=[1, 0])", "1, 0)", "E0105", "0", "axes=[1, 0]"),
    ("axes=[1, 0])", "dims=[1, 0])", "E0105", "dims=[1, 0]", "axes"),
    ("axes=[1, 0])", "axes=[0])", "E0323", "R.permute_dims(w, axes=[0])", "list every axis once"),
    ("R.permute_dims(w, axes=[1, 0])", "w.T", "E0103", "w.T", "R.permute_dims"),
    ("R.permute_dims(w, axes=[1, 0])", "w", "E0326", 'R.matmul(x, wt, out_dtype="float32")', "R.permute_dims"),
    ("R.permute_dims(w, axes=[1, 0])", "w.transpose()", "E0103", "w.transpose", "R.permute_dims"),
    ('out_dtype="float32"', "out_dtype=float32", "E0101", "float32", '"float32"'),
    ('out_dtype="float32"', 'dtype="float32"', "E0105", 'dtype="float32"', "out_dtype"),
    ('R.matmul(x, wt, out_dtype="float32")', "R.nn.linear(x, w)", "E0301", "R.nn.linear", "did you mean 'R.linear'?"),
    ('R.matmul(x, wt, out_dtype="float32")', "R.nn.dense(x, w)", "E0301", "R.nn.dense", "did you mean 'R.linear'?"),
    ('R.matmul(x, wt, out_dtype="float32")', 'R.einsum("ij,kj->ik", x, w)', "E0105", "w", 'write the operands as one tuple: R.einsum((x, y), "ij,jk->ik'),
    ("R.add(lv, b)", "R.bias_add(lv, b)", "E0301", "R.bias_add", "R.add"),
    ("R.add(lv, b)", "R.add(lv, b, x)", "E0105", "x", "write R.add(x1, x2)"),
    ("R.add(lv, b)", "R.add((lv, b))", "E0105", "R.add((lv, b))", "write R.add(x1, x2)"),
    ("R.add(lv, b)", "R.add(lv, w)", "E0326", "R.add(lv, w)", "broadcast dimensions must be equal, or one of them 1"),
    ("R.shape([n, 32])", "R.Shape([n, 32])", "E0321", "R.reshape(probs, s)", "write R.shape([…]), in lower case"),
    ("R.reshape(probs, s)", "R.reshape(probs, b)", "E0322", "R.reshape(probs, b)", "pass R.tensor_to_shape(…) of it"),
    ("R.reshape(probs, s)", "R.reshape(probs, (b, 32))", "E0321", "R.reshape(probs, (b, 32))", "write R.tensor_to_shape(t) for a tensor t of sizes"),
    ("R.reshape(probs, s)", "R.reshape((8, 32), probs)", "E0322", "R.reshape((8, 32), probs)", "pass the tensor first, and the shape after it"),
    ("R.shape([n, 32])", "R.shape(n, 32)", "E0105", "32", "write R.shape([n, 4])"),
    ("R.shape([n, 32])", "R.shape([N, 32])", "E0101", "N", "n"),
    ("R.shape([n, 32])", "[n, 32]", "E0438", 'R.Tuple(R.Tensor(("n", 32), "float32"), R.Shape(["n", 32]))', ""),
    ("indices_or_sections=2", "num=2", "E0105", "num=2", "indices_or_sections"),
    ("axis=1)\n        left", "axis=2)\n        left", "E0325", "R.split(lv1, indices_or_sections=2, axis=2)", "-2 to 1"),
    ("left = parts[0]", "left = parts[2]", "E0304", "parts[2]", "count the elements from 0"),
    ("left = parts[0]", "left, right = parts[0]", "E0312", "parts[0]", ""),
    ("left = parts[0]", "left = parts.0", "E0013", "parts.0", "parts[0]"),
    ("left = parts[0]", 'left = parts["0"]', "E0202", 'parts["0"]', "take elements of a tensor with R.strided_slice(…) or R.take("),
    ("left = parts[0]", "left = parts(0)", "E0322", "parts(0)", "see docs/operators.md for the arguments of each operator"),
    ("R.concat((left, right), axis=1)", "R.concat(left, right, axis=1)", "E0105", "axis=1", "write the tensors as one tuple: R.concat((x, y), axis=0)"),
    ("R.concat((left, right), axis=1)", "R.concat([left, right], dim=1)", "E0105", "dim=1", "axis"),
    ("R.concat((left, right), axis=1)", "R.concat(parts, axis=1.0)", "E0321", "R.concat(parts, axis=1.0)", ""),
    ("R.nn.softmax(joined, axis=-1)", "R.softmax(joined, axis=-1)", "E0301", "R.softmax", "R.nn.softmax"),
    ("R.nn.softmax(joined, axis=-1)", "R.nn.softmax(joined, axis=-3)", "E0325", "R.nn.softmax(joined, axis=-3)", "-2 to 1"),
    ("R.nn.softmax(joined, axis=-1)", "R.nn.softmax(joined, -1, 0)", "E0105", "0", "write R.nn.softmax(data, axis=…)"),
    ("R.nn.softmax(joined, axis=-1)", "F.softmax(joined, dim=-1)", "E0101", "F", "R."),
    ("R.nn.softmax(joined, axis=-1)", "R.nn.softmax[joined]", "E0103", "R.nn.softmax", "("),
    ("R.nn.softmax(joined, axis=-1)", "joined[:, 0:16]", "E0202", "joined[:, 0:16]", "R.strided_slice"),
    ("R.nn.softmax(joined, axis=-1)", "joined / 8.0", "E0206", "8.0", "R.const(8.0"),
    ("R.nn.softmax(joined, axis=-1)", "joined ** 2", "E0206", "2", 'write R.const(2, "float32") for a tensor, R.prim_value(…) fo'),
    ("R.nn.softmax(joined, axis=-1)", "R.nn.dropout(joined, p=0.1)", "E0105", "p=0.1", "rate"),
    ("R.nn.softmax(joined, axis=-1)", "R.nn.softmax(joined, axis=-1), x", "E0322", "R.reshape(probs, s)", ""),
    ("R.reshape(probs, s)", "R.reshape(probs, -1, 32)", "E0105", "32", "write the shape as one tuple: R.reshape(x, (n, 4))"),
    ("R.reshape(probs, s)", "R.reshape(probs, (-1, -1))", "E0326", "R.reshape(probs, (-1, -1))", "one"),
    ("R.reshape(probs, s)", "R.view(probs, s)", "E0301", "R.view", "R.reshape"),
    ("R.reshape(probs, s)", "probs.reshape(s)", "E0103", "probs.reshape", "R.reshape(probs, …)"),
    ("R.output(y, s)", "R.output((y, s))", "E0309", "(y, s)", "bind the value to a name first"),
    ("R.output(y, s)", "R.output(y)", "E0432", "(y, s)", "R.output"),
    ("R.output(y, s)", "return y", "E0306", "return y", "write R.output(…) at the end of the dataflow block"),
    ("        R.output(y, s)\n", "", "E0432", "(y, s)", "R.output"),
    ("return (y, s)", "return y", "E0438", 'R.Tuple(R.Tensor(("n", 32), "float32"), R.Shape(["n", 32]))', 'write R.Tensor((n, 32), "float32")'),
    ("return (y, s)", "return (y, s", "E0009", "(", ")"),
    ("return (y, s)", "R.ret((y, s))", "E0301", "R.ret", "return"),
    ('R.Shape(["n", 32])', 'R.Shape(["m", 32])', "E0101", '"m"', "n"),
    ('R.Shape(["n", 32])', 'R.Shape(("n"), 32)', "E0321", '("n")', "write them as a tuple: (n, 4), or (n,) for one"),
    ("R.Tuple(R.Tensor", "tuple(R.Tensor", "E0101", "tuple", "R.Tuple"),
    ('w: R.Tensor((32, 64), "float32")', 'w: R.Tensor([32, 64], "float")', "E0321", '"float"', "did you mean 'float64'?"),
    ('w: R.Tensor((32, 64), "float32")', "w: R.Tensor((32, 64), R.float32)", "E0103", "R.float32", '"float32"'),
    ('w: R.Tensor((32, 64), "float32")', "w", "E0305", "w", "R.Tensor"),
    ('w: R.Tensor((32, 64), "float32")', "w: torch.Tensor", "E0101", "torch", "R.Tensor"),
    ('w: R.Tensor((32, 64), "float32")', 'w: R.Tensor((32, 64), "float32"', "E0009", "(", ")"),
    ('w: R.Tensor((32, 64), "float32")', 'w: R.Tensor((32, -64), "float32")', "E0326", 'R.matmul(x, wt, out_dtype="float32")', ""),
    ('w: R.Tensor((32, 64), "float32")', 'w: R.Tensor((32, 64.0), "float32")', "E0321", "64.0", "integer"),
)  # fmt: skip
IMAGE_MISTAKES = mistakes(
    IMAGES,
    ("    m = R.mean(", "    while c:\n        r = R.add(r, r)\n    m = R.mean(", "E0207", "", "write it in a T.prim_func that R.call_tir calls"),
    ("    m = R.mean(", "    for i in range(2):\n        r = R.add(r, r)\n    m = R.mean(", "E0207", "", "or as a nested function that calls itself"),
    ("padding=[1, 1]", 'padding="same"', "E0321", 'R.nn.conv2d(x, w, strides=[1, 1], padding="same", data_layout="NCHW", kernel_layout="OIHW")', ""),
    ("strides=[1, 1], padding", "stride=[1, 1], padding", "E0105", "stride=[1, 1]", "strides"),
    ("strides=[1, 1], padding", "strides=[0, 1], padding", "E0321", 'R.nn.conv2d(x, w, strides=[0, 1], padding=[1, 1], data_layout="NCHW", kernel_layout="OIHW")', "see docs/operators.md for the values of each argument"),
    ("padding=[1, 1]", "padding=[1, 1, 1]", "E0321", 'R.nn.conv2d(x, w, strides=[1, 1], padding=[1, 1, 1], data_layout="NCHW", kernel_layout="OIHW")', "see docs/operators.md for the values of each argument"),
    ('data_layout="NCHW"', 'data_layout="NHWC"', "E0326", 'R.nn.conv2d(x, w, strides=[1, 1], padding=[1, 1], data_layout="NHWC", kernel_layout="OIHW")', "check the layouts and the groups"),
    ('data_layout="NCHW"', 'data_layout="NCWX"', "E0325", 'R.nn.conv2d(x, w, strides=[1, 1], padding=[1, 1], data_layout="NCWX", kernel_layout="OIHW")', "use an order of the letters NCHW"),
    ("R.nn.conv2d(x, w,", "R.nn.Conv2d(x, w,", "E0301", "R.nn.Conv2d", "R.nn.conv2d"),
    ("R.nn.conv2d(x, w,", "R.nn.conv2d(w, x,", "E0426", "y", ""),
    ("R.nn.conv2d(x, w,", "R.nn.conv1d(x, w,", "E0325", 'R.nn.conv1d(x, w, strides=[1, 1], padding=[1, 1], data_layout="NCHW", kernel_layout="OIHW")', "use an order of the letters NCW"),
    ("R.nn.conv2d(x, w,", "R.nn.conv2d(x, w, g,", "E0105", "strides=[1, 1]", "keep one of them"),
    ("pool_size=[2, 2]", "kernel_size=[2, 2]", "E0105", "kernel_size=[2, 2]", "pool_size"),
    ("R.nn.max_pool2d(y", "R.nn.maxpool2d(y", "E0301", "R.nn.maxpool2d", "R.nn.max_pool2d"),
    ("    if c:", "    if x:", "E0326", "x", 'compute a tensor of shape () and dtype "bool"'),
    ("    if c:", "    if R.less(x, x):", "E0326", "R.less(x, x)", 'compute a tensor of shape () and dtype "bool"'),
    ("    if c:", "    if c.item():", "E0103", "c.item", "c is a value of the graph: use a tensor of shape () as it is"),
    ("    if c:", "    while c:", "E0008", "else", ""),
    ("        r = R.nn.gelu(z)", "        q = R.nn.gelu(z)", "E0310", "c", "end both with an assignment to the same name"),
    ("    else:\n        r = R.nn.gelu(z)\n", "", "E0310", "c", "else"),
    ("axis=[2, 3], keepdims=False", "dim=[2, 3], keepdims=False", "E0105", "dim=[2, 3]", "axis"),
    ("axis=[2, 3], keepdims=False", "axis=[2, 4], keepdims=False", "E0325", "R.mean(r, axis=[2, 4], keepdims=False)", "-4 to 3"),
    ("axis=[2, 3], keepdims=False", "axis=[2, 3], keepdim=False", "E0105", "keepdim=False", "keepdims"),
    ("axis=[2, 3], keepdims=False", "axis=[2, 2], keepdims=False", "E0325", "R.mean(r, axis=[2, 2], keepdims=False)", "name each axis once"),
    ("R.argmax(m, axis=1)", "R.argmax(m, axis=[1])", "E0321", "R.argmax(m, axis=[1])", "write an integer"),
    ("R.take(g, i, axis=0)", "R.take(g, m, axis=0)", "E0324", "R.take(g, m, axis=0)", "R.astype"),
    ("R.take(g, i, axis=0)", "g[i]", "E0202", "g[i]", "R.take"),
    ("R.take(g, i, axis=0)", "R.gather(g, i)", "E0301", "R.gather", "did you mean 'R.gather_elements'?"),
    ('R.astype(e, "float16")', "R.astype(e, float16)", "E0101", "float16", '"float16"'),
    ('R.astype(e, "float16")', 'R.cast(e, "float16")', "E0301", "R.cast", "R.astype"),
    ('R.astype(e, "float16")', 'R.astype("float16", e)', "E0321", 'R.astype("float16", e)', ""),
    ('R.astype(e, "float16")', "e.half()", "E0103", "e.half", "R.astype"),
    ('R.astype(e, "float16")', "R.astype(e, np.float16)", "E0101", "np", "operators are forms of the language: T.exp(x) on scalars, R."),
    ('R.call_dps_packed("my.function", (h,)', "R.call_dps_packed(my.function, (h,)", "E0101", "my", ""),
    ('R.call_dps_packed("my.function", (h,)', 'R.call_packed("my.function", (h,)', "E0207", "R.Tensor", ""),
    ("    return u", "    return u, v", "E0101", "v", "define it above, or correct its spelling"),
    ("    return u", "   return u", "E0007", "   ", "indent"),
    ("    return u", "return u", "E0106", "return u", "use functions, macros, plain constants, I.module_attrs and I"),
    ("    return u", "    return u\n    v = R.add(u, u)", "E0306", "return u", "return"),
    ("    return u", "    u", "E0311", "u", "bind it to a name, or to _ if it is not needed: _ = u"),
    ("    return u", "    yield u", "E0013", "yield", "return"),
)  # fmt: skip
TVM_MISTAKES = mistakes(
    TVM,
    ("from tvm.script import tir as T\n", "from tvm.script import tri as T\n", "E0101", "from tvm.script import tri as T", "tir"),
    ("from tvm.script import tir as T\n", "from tvm.script import tir as T, tir as TT,\n", "E0008", "", "write a name before the line ends"),
    ("@I.ir_module\n", "@I.ir_modul\n", "E0103", "ir_modul", "ir_module"),
    ("@I.ir_module\n", "@ir_module\n", "E0101", "ir_module", "I.ir_module"),
    ("@I.ir_module\n", "", "E0107", "Module", "I.ir_module"),
    ("@I.ir_module\nclass Module:", "@I.ir_module\ndef Module():", "E0023", "Module", "write I.ir_module Module:"),
    ("class Module:", "class Module(", "E0013", "@", ""),
    ("class Module:", "Class Module:", "E0016", "I.ir_module", "remove the decorator"),
    ("@T.prim_func\n", "@T.primfunc\n", "E0103", "primfunc", "prim_func"),
    ("@T.prim_func\n", "@tvm.script.tir\n", "E0107", "tvm.script.tir", "use T.prim_func, R.function, T.macro, R.macro, S.schedule or I.ir_mod"),
    ("    @T.prim_func\n", "", "E0107", "scale", "T.prim_func"),
    ("@T.prim_func\n", "@R.function\n", "E0315", "R.function", "open it with T.prim_func"),
    ("def scale(A", "def (A", "E0008", "(", "name"),
    ("def scale(A", "scale(A", "E0016", "@T.prim_func", "write one, or remove the decorator"),
    ("def scale(A", "def main(A", "E0104", "main", "rename one of them"),
    ('"tir.noalias": T.bool(True)', '"tir.noalias": T.bool(true)', "E0101", "true", "True"),
    ("cls.scale", "cls.scal", "E0102", "cls.scal", "scale"),
    ("cls.scale", "Modul.scale", "E0101", "Modul", "Module"),
    ("(x,), out_sinfo", "(x, (8,)), out_sinfo", "E0435", 'R.call_tir(cls.scale, (x, (8,)), out_sinfo=R.Tensor((8,), dtype="float32"))', "pass one argument for each input, and one out_sinfo for each"),
    ('out_sinfo=R.Tensor((8,), dtype="float32")', "out_sinfo=(8,)", "E0321", "R.call_tir(cls.scale, (x,), out_sinfo=(8,))", "write struct info such as R.Tensor(…)"),
    ('out_sinfo=R.Tensor((8,), dtype="float32")', '(8,), dtype="float32"', "E0105", 'dtype="float32"', "out_sinfo=R.Tensor"),
    ('out_sinfo=R.Tensor((8,), dtype="float32")', 'out_sinfo=R.Tensor((8,), dtype="float16")', "E0324", "R.add(y, x)", 'convert one: R.astype(…, "float16")'),
    ('out_sinfo=R.Tensor((8,), dtype="float32")', 'out_sinfo=[R.Tensor((8,), "float32"), R.Tensor((8,), "float32")]', "E0322", "R.add(y, x)", ""),
    ("R.add(y, x)", "R.emit(R.add(y, x))", "E0301", "R.emit", "bind the value to a name: y = R.add(x, x)"),
    ("R.add(y, x)", "bb.emit(R.add(y, x))", "E0101", "bb", "bind the value to a name: y = R.add(x, x)"),
    ("R.add(y, x)", 'R.add(y, metadata["relax.expr.Constant"][0])', "E0439", 'metadata["relax.expr.Constant"][0]', 'name a tensor of the sidecar file: I.constant("name")'),
    ("R.add(y, x)", "topi.add(y, x)", "E0101", "topi", "R."),
    ("R.add(y, x)", "R.add(y, x", "E0009", "(", ")"),
    ("R.add(y, x)", "R.add(y x)", "E0008", "x", "comma"),
    ("R.add(y, x)", "R.add(y,, x)", "E0008", ",", "write an expression before it, or remove it"),
    ("R.add(y, x)", "R.add(y, x).", "E0008", "", "name"),
    ("R.add(y, x)", "R.", "E0008", "", "name"),
    ("R.add(y, x)", "", "E0008", "", "expression"),
    ("            R.output(z)\n", "            R.output(z)\n\t    z = z\n", "E0007", "\t    ", "indent with spaces only"),
    ('            with T.block("scale"):\n', '            with T.block("scale):\n', "E0006", '"scale):', '"'),
    ('            with T.block("scale"):\n', '            with T.block(\'scale"):\n', "E0006", '\'scale"):', "'"),
    ('            with T.block("scale"):\n', "            with T.block(“scale”):\n", "E0005", "“", '"'),
    ("                vi = T.axis.spatial(8, i)\n", "              vi = T.axis.spatial(8, i)\n", "E0007", "", "indent"),
    ("        for i in range(8):\n", "        for i in range(8) {\n", "E0013", "{", "end the line with `:`, and indent the body"),
    ("        for i in range(8):\n", "        for (int i = 0; i < 8; i++) {\n", "E0013", "for (int i", "for i in range"),
    ("        for i in range(8):\n", "        for i in range(8)\n", "E0008", "", ":"),
    ("        for i in range(8):\n", "        For i in range(8):\n", "E0008", "For", "for"),
)  # fmt: skip
STEP_MISTAKES = mistakes(
    STEPS,
    ("S.schedule gpu(main", "S.schedule gpu(Main", "E0102", "Main", "main"),
    ("S.schedule gpu(main", "S.schedule(main", "E0008", "S.schedule", "name"),
    ("S.schedule gpu(main", 'S.schedule gpu("main"', "E0008", '"main"', "write the name without quotes"),
    ('target="cuda"', 'target="cdua"', "E0601", '"cdua"', "cuda"),
    ('target="cuda"', 'taget="cuda"', "E0467", 'taget="cuda"', "did you mean 'target'?"),
    ('target="cuda"', "target=cuda", "E0101", "cuda", '"cuda"'),
    ('S.get_block("relu")', 'S.get_block("Relu")', "E0502", '"Relu"', "relu"),
    ('S.get_block("relu")', 'S.get_block(name="relu", func="main")', "E0105", 'func="main"', "func_name"),
    ('S.get_block("relu")', 'sch.get_block("relu")', "E0101", "sch", "S."),
    ('S.get_block("relu")', "s[relu]", "E0101", "s", "primitives are called as S.name"),
    ("i, j, k = S.get_loops(block)", "i, j, k, l = S.get_loops(block)", "E0204", "S.get_loops(block)", "bind 3 names"),
    ("i, j, k = S.get_loops(block)", "(i, j, k) = S.get_loops(blk)", "E0101", "blk", "did you mean 'block'?"),
    ("i, j, k = S.get_loops(block)", "i, j, k = block.get_loops()", "E0103", "block.get_loops", "S.get_loops(block)"),
    ("factors=[None, tile])\n    bj", "factors=[None, tle])\n    bj", "E0101", "tle", "tile"),
    ("factors=[None, tile])\n    bj", "factor=tile)\n    bj", "E0105", "factor=tile", "factors"),
    ("factors=[None, tile])\n    bj", "[-1, tile])\n    bj", "E0507", "-1", "write None to infer it"),
    ("factors=[None, tile])\n    bj", "factors=[None, 0])\n    bj", "E0507", "0", "give factors of at least 1"),
    ("factors=[None, tile])\n    bj", "factors=[4, 8])\n    bj", "E0508", "[4, 8]", "write None for the first factor to infer it, or make a factor larger"),
    ("factors=[None, tile])\n    bj", "factors=tile)\n    bj", "E0501", "tile", "write factors=[None, "),
    ("factors=[None, tile])\n    bj", "factors=[None, 2, tile])\n    bj", "E0204", "S.split(i, factors=[None, 2, tile])", "bind 3 names"),
    ("factors=[None, tile])\n    bj", "factors=[None, 2.5])\n    bj", "E0501", "[None, 2.5]", "write S.split(loop, factors, preserve_unit_iters=…, disable_"),
    ("S.split(i, factors", 'S.split("i", factors', "E0501", '"i"', "write S.split(loop, factors, preserve_unit_iters=…, disable_"),
    ("S.split(i, factors", "S.split(block, factors", "E0501", "block", "loop"),
    ("S.split(i, factors", "S.tile(i, factors", "E0103", "tile", "S.split"),
    ("S.reorder(bi, bj, ti, tj, ko, ki)", "S.reorder([bi, bj, ti, tj, ko, ki])", "E0501", "[bi, bj, ti, tj, ko, ki]", "*"),
    ("S.reorder(bi, bj, ti, tj, ko, ki)", "S.reorder(bi, bj, ti, tj, ko, ko)", "E0512", "ko", "give it only once"),
    ("S.reorder(bi, bj, ti, tj, ko, ki)", "S.reorder(bi, bj, ti, tj, k)", "E0503", "k", "get a new handle, as a primitive has replaced it"),
    ("S.reorder(bi, bj, ti, tj, ko, ki)", "S.reorder(block)", "E0501", "block", "loop"),
    ("S.reorder(bi, bj, ti, tj, ko, ki)", "S.permute(bi, bj, ti, tj, ko, ki)", "E0103", "permute", "S.reorder"),
    ('S.bind(bi, "blockIdx.y")', 'S.bind(bi, "blockIdx")', "E0525", '"blockIdx"', "blockIdx.x"),
    ('S.bind(bi, "blockIdx.y")', 'S.bind(bi, "BlockIdx.y")', "E0525", '"BlockIdx.y"', "did you mean 'blockIdx.y'?"),
    ('S.bind(bi, "blockIdx.y")', "S.bind(bi, blockIdx.y)", "E0101", "blockIdx", 'bind a loop to it: S.bind(loop, "threadIdx.x"), or T.thread_'),
    ('S.bind(bi, "blockIdx.y")', 'S.bind(bi, "blockIdx.x")', "E0536", "bj", "bind it to another axis, or split it to the same extent"),
    ('S.bind(bi, "blockIdx.y")', 'S.bind(bi, T.thread_axis("blockIdx.y"))', "E0103", "thread_axis", 'write the name of the axis, such as "threadIdx.x"'),
    ('S.bind(bi, "blockIdx.y")', "S.parallel(bi, 4)", "E0105", "4", "write parallel(loop)"),
    ("S.reverse_compute_at(relu, tj)", "S.compute_at(relu, tj)", "E0522", "relu", "reverse_compute_at moves a consumer under its producer"),
    ("S.reverse_compute_at(relu, tj)", "S.reverse_compute_at(tj, relu)", "E0501", "tj", "block"),
    ("S.reverse_compute_at(relu, tj)", "S.reverse_compute_at(relu, i)", "E0503", "i", "get a new handle, as a primitive has replaced it"),
    ("S.reverse_compute_at(relu, tj)", "S.compute_inline(block)", "E0540", "block", ""),
    ('S.set_scope(block, 0, "local")', 'S.set_scope(block, 1, "local")', "E0547", "1", "give an index into T.reads or T.writes, from 0"),
    ('S.set_scope(block, 0, "local")', 'S.set_scope(block, 0, "locals")', "E0501", '"locals"', "write S.set_scope(block, buffer_index, storage_scope)"),
    ('S.set_scope(block, 0, "local")', 'S.set_scope(block, "local")', "E0105", 'S.set_scope(block, "local")', "storage_scope"),
    ('S.cache_read(block, 0, "local")', 'S.cache_read(block, 2, "local")', "E0547", "2", "give an index into T.reads or T.writes, from 0"),
    ('S.cache_read(block, 0, "local")', 'S.cache_read(block, "E", "local")', "E0547", '"E"', "give an index into T.reads or T.writes, from 0"),
    ('S.cache_read(block, 0, "local")', "S.cache_read(block, 0)", "E0105", "S.cache_read(block, 0)", "storage_scope"),
    ('S.cache_read(block, 0, "local")', 'S.cache_read("relu", 0, "local", k)', "E0501", "k", "write S.cache_read(block, read_buffer_index, storage_scope, "),
    ("S.decompose_reduction(block, ko)", "S.decompose_reduction(relu, ko)", "E0570", "ko", "choose a loop that get_loops returns"),
    ("S.decompose_reduction(block, ko)", "S.decompose_reduction(block, ki)", "E0571", "ki", "give the outermost loop of the reduction"),
    ("S.decompose_reduction(block, ko)", "S.decompose_reduction(ko)", "E0105", "S.decompose_reduction(ko)", "loop"),
    ("S.unroll(ki)", "S.unrol(ki)", "E0103", "unrol", "unroll"),
    ("S.unroll(ki)", "S.unroll(k)", "E0503", "k", "get a new handle, as a primitive has replaced it"),
    ("S.unroll(ki)", "S.vectorize(ko)", "E0521", "ko", ""),
    ("S.unroll(ki)", "S.unroll()", "E0105", "S.unroll()", "loop"),
    ("S.unroll(ki)", "ki.unroll()", "E0103", "ki.unroll", "S.unroll(ki)"),
    ("S.unroll(ki)", 'S.tensorize(ki, "wmma_sync")', "E0502", '"wmma_sync"', ""),
    ('S.annotate(ki, ann_key="hint", ann_val=1)', 'S.annotate(ki, "hint")', "E0105", 'S.annotate(ki, "hint")', "ann_val"),
    ('S.annotate(ki, ann_key="hint", ann_val=1)', 'S.annotate(ki, key="hint", ann_val=1)', "E0105", 'key="hint"', "ann_key"),
    ('S.annotate(ki, ann_key="hint", ann_val=1)', 'S.unannotate(ki, "hint")', "E0527", '"hint"', "print the annotations with sch.show()"),
    ('S.annotate(ki, ann_key="hint", ann_val=1)', 'S.annotate(ki, "hint", undefined_value)', "E0101", "undefined_value", "define it above, or correct its spelling"),
)  # fmt: skip
MISTAKES = [*SHAPE_MISTAKES, *IMAGE_MISTAKES, *TVM_MISTAKES, *STEP_MISTAKES]


@pytest.mark.parametrize("text", [SHAPES, IMAGES, TVM, STEPS])
def test_the_programs_are_right(text: str) -> None:
    assert list(diagnostics(text)) == []


@each_mistake(MISTAKES)
def test_a_mistake_is_one_diagnostic(mistake: Mistake) -> None:
    check_mistake(mistake)
