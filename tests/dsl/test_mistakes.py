"""Realistic mistakes: each is one diagnostic, with the right code, position and remedy."""

from __future__ import annotations

import pytest
from mistakes import Mistake, check_mistake, diagnostics, each_mistake, mistakes
from tvms.ir.ops.registry import relax_ops

GRAPH = """\
I.ir_module Module:
    T.prim_func double(A: T.Buffer((8, 16), "float32"), B: T.Buffer((8, 16), "float32")):
        for i, j in T.grid(8, 16):
            with T.block("double"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * T.float32(2)

    R.function main(x: R.Tensor((8, 16), "float32"), w: R.Tensor((16, 4), "float32")) -> R.Tensor((8, 4), "float32"):
        with R.dataflow():
            a = R.call_tir(Module.double, (x,), out_sinfo=R.Tensor((8, 16), "float32"))
            b = R.nn.relu(a)
            c = R.matmul(b, w)
            d = R.add(c, R.const(1.0, "float32"))
            R.output(d)
        return d
"""
LOOPS = """\
T.prim_func main(A: T.Buffer((16, 32), "float32"), B: T.Buffer((32, 8), "float32"), C: T.Buffer((16, 8), "float32")):
    D = T.alloc_buffer((16, 8), "float32")
    for i, j, k in T.grid(16, 8, 32):
        with T.block("matmul"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            T.reads(A[vi, vk], B[vk, vj])
            T.writes(D[vi, vj])
            with T.init():
                D[vi, vj] = T.float32(0)
            D[vi, vj] = D[vi, vj] + A[vi, vk] * B[vk, vj]
    for i, j in T.grid(16, 8):
        with T.block("relu"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = T.max(D[vi, vj], T.float32(0))

S.schedule tiled(main):
    block = S.get_block("matmul")
    i, j, k = S.get_loops(block)
    i0, i1 = S.split(i, factors=[None, 4])
    S.reorder(i0, k, i1, j)
    S.vectorize(j)
"""
PLAIN = """\
T.prim_func main(a: T.handle, n: T.int32):
    A = T.match_buffer(a, (n,), "float32")
    x: T.float32 = T.float32(2)
    for i in T.serial(n):
        if i < 8:
            A[i] = x * T.exp(A[i])
        else:
            A[i] = T.float32(0)
"""


GRAPH_MISTAKES = mistakes(
    GRAPH,
    ("R.add(c, ", "R.mul(c, ", "E0301", "R.mul", "did you mean 'R.multiply'?"),
    ("R.add(c, ", "R.cat(c, ", "E0301", "R.cat", "did you mean 'R.concat'?"),
    ("R.add(c, ", "R.transpose(c, ", "E0301", "R.transpose", "did you mean 'R.permute_dims'?"),
    ("R.add(c, ", "R.clamp(c, ", "E0301", "R.clamp", "did you mean 'R.clip'?"),
    ("R.add(c, ", "R.unsqueeze(c, ", "E0301", "R.unsqueeze", "did you mean 'R.expand_dims'?"),
    ("R.nn.relu(a)", "R.nn.rellu(a)", "E0301", "R.nn.rellu", "R.nn.relu"),
    ("R.nn.relu(a)", "R.relu(a)", "E0301", "R.relu", "R.nn.relu"),
    ("R.nn.relu(a)", "R.nn.relu(aa)", "E0101", "aa", "a"),
    ("R.nn.relu(a)", "R.nn.relu()", "E0105", "R.nn.relu()", "data"),
    ("R.nn.relu(a)", "R.nn.relu(a, a)", "E0105", "a", ""),
    ("R.nn.relu(a)", "R.nn.relu(a", "E0009", "(", ""),
    ("R.nn.relu(a)", "R.nn.relu(a))", "E0009", ")", ""),
    ("R.nn.relu(a)", "a + 1", "E0206", "1", "R.const(1"),
    ("R.nn.relu(a)", "1 + a", "E0206", "1", "R.const(1"),
    ("R.nn.relu(a)", "T.exp(a)", "E0206", "T.exp", "R.exp"),
    ("R.nn.relu(a)", "np.maximum(a, 0)", "E0101", "np", "R."),
    ("R.nn.relu(a)", "torch.relu(a)", "E0101", "torch", "R.exp(x)"),
    ("R.nn.relu(a)", "a.relu()", "E0103", "a.relu", "R.nn.relu(a, …)"),
    ("R.nn.relu(a)", "R.reshape(a, (8, 15))", "E0326", "R.reshape(a, (8, 15))", "product"),
    ("R.nn.relu(a)", "R.permute_dims(a, axes=[0, 2])", "E0325", "R.permute_dims(a, axes=[0, 2])", ""),
    ("R.nn.relu(a)", "R.sum(a, axis=2)", "E0325", "R.sum(a, axis=2)", "-2 to 1"),
    ("R.nn.relu(a)", "R.sum(a, axes=1)", "E0105", "axes=1", "axis"),
    ("R.nn.relu(a)", "R.astype(a, \"flaot16\")", "E0321", 'R.astype(a, "flaot16")', "float16"),
    ("R.nn.relu(a)", "R.concat(a, w)", "E0321", "R.concat(a, w)", ""),
    ("R.matmul(b, w)", "R.matmul(w, b)", "E0326", "R.matmul(w, b)", ""),
    ("R.matmul(b, w)", "R.matmul(b, w, 1)", "E0321", "R.matmul(b, w, 1)", ""),
    ("R.matmul(b, w)", "R.matmul(b)", "E0105", "R.matmul(b)", ""),
    ("R.matmul(b, w)", "b @ w", "E0013", "@", "R.matmul"),
    ("R.matmul(b, w)", "R.matmull(b, w)", "E0301", "R.matmull", "R.matmul"),
    ("R.output(d)", "R.outptu(d)", "E0301", "R.outptu", "R.output"),
    ("R.output(d)", "R.output(e)", "E0309", "e", ""),
    ("R.output(d)", "R.output()", "E0432", "d", ""),
    ("return d", "return c", "E0432", "c", "R.output"),
    ("return d", "retrun d", "E0008", "retrun", "return"),
    ("return d", "return", "E0306", "return", ""),
    ("        return d\n", "", "E0306", "main", "return"),
    ("with R.dataflow():", "with R.dataflow:", "E0207", "R.dataflow", "R.dataflow()"),
    ("with R.dataflow():", "with R.dataflow()", "E0008", "", ":"),
    ("with R.dataflow():", "with dataflow():", "E0207", "dataflow()", "R.dataflow"),
    ("Module.double", "Module.doubel", "E0102", "Module.doubel", "double"),
    ("Module.double", "self.double", "E0101", "self", "cls"),
    ("Module.double, (x,)", "Module.double, (x, x)", "E0435", "", ""),
    (", out_sinfo=R.Tensor((8, 16), \"float32\")", "", "E0105", "R.call_tir(Module.double, (x,))", "out_sinfo"),
    ("out_sinfo=R.Tensor((8, 16)", "out_sinfo=R.Tensor((8, 17)", "E0326", "R.matmul(b, w)", ""),
    ("out_sinfo=", "out_info=", "E0105", 'out_info=R.Tensor((8, 16), "float32")', "out_sinfo"),
    ('R.const(1.0, "float32")', '1.0', "E0324", "R.add(c, 1.0)", "R.astype"),
    ('R.const(1.0, "float32")', 'R.const(1.0, "float64")', "E0324", 'R.add(c, R.const(1.0, "float64"))', ""),
    ('R.const(1.0, "float32")', 'R.const(1.0, float32)', "E0101", "float32", '"float32"'),
    ("-> R.Tensor((8, 4)", "-> R.Tensor((8, 5)", "E0438", 'R.Tensor((8, 5), "float32")', ""),
    ("x: R.Tensor((8, 16)", "x: T.Buffer((8, 16)", "E0315", 'T.Buffer((8, 16), "float32")', "R.Tensor"),
    ("x: R.Tensor((8, 16)", "x: R.tensor((8, 16)", "E0301", "R.tensor", "R.Tensor"),
    ("x: R.Tensor((8, 16)", "x: R.Tensor(8, 16", "E0321", "8", "tuple"),
    ("x: R.Tensor((8, 16), ", "x: R.Tensor((8, n), ", "E0101", "n", '"n"'),
    ("R.function main", "R.func main", "E0103", "func", "'function'"),
    ("R.function main", "R.Function main", "E0103", "Function", "'function'"),
    ("R.function main(", "R.function double(", "E0104", "double", ""),
    ("I.ir_module Module:", "I.module Module:", "E0103", "module", "ir_module"),
    ("I.ir_module Module:", "I.ir_module Module", "E0008", "", ":"),
    ("I.ir_module Module:", "I.ir_module:", "E0008", "I.ir_module", "name"),
)  # fmt: skip
LOOP_MISTAKES = mistakes(
    LOOPS,
    ("for i, j, k in T.grid(16, 8, 32)", "for i, j in T.grid(16, 8, 32)", "E0204", "i, j", ""),
    ("for i, j, k in T.grid(16, 8, 32)", "for i, j, k in range(16, 8, 32)", "E0204", "i, j, k", ""),
    ("for i, j, k in T.grid(16, 8, 32)", "for i, j, k in T.grd(16, 8, 32)", "E0103", "grd", "grid"),
    ("for i, j, k in T.grid(16, 8, 32)", "for i, j, k of T.grid(16, 8, 32)", "E0008", "of", ""),
    ("for i, j, k in T.grid(16, 8, 32):", "for i, j, k in T.grid(16, 8, 32)", "E0008", "", ":"),
    ("for i, j, k in T.grid(16, 8, 32)", "for i, j, k in T.grid(16, 8, 32.0)", "E0406", "T.grid(16, 8, 32.0)", ""),
    ("for i, j, k", "fro i, j, k", "E0008", "fro", "for"),
    ('with T.block("matmul")', 'with T.blok("matmul")', "E0103", "blok", "block"),
    ('with T.block("matmul")', "with T.block(matmul)", "E0101", "matmul", ""),
    ('with T.block("matmul")', 'wiht T.block("matmul")', "E0008", "wiht", "with"),
    ('"SSR"', '"SSS"', "E0412", "D[vi, vj] = T.float32(0)", "R"),
    ('"SSR"', '"SS"', "E0203", "[i, j, k]", ""),
    ('"SSR"', '"SSX"', "E0203", '"SSX"', "S"),
    ("[i, j, k]", "[i, j]", "E0203", "[i, j]", ""),
    ("[i, j, k]", "i, j, k", "E0105", "k", "bindings"),
    ("[i, j, k]", "[i, j, l]", "E0101", "l", ""),
    ("vi, vj, vk = T", "vi, vj = T", "E0203", "vi, vj", ""),
    ("vi, vj, vk = T", "vi, vi, vk = T", "E0209", "vi, vi, vk", "name"),
    ("T.reads(A[vi, vk], B[vk, vj])", "T.read(A[vi, vk], B[vk, vj])", "E0103", "read", "reads"),
    ("T.reads(A[vi, vk], B[vk, vj])", "T.reads(A[vi, vk])", "E0413", "B[vk, vj]", "T.reads(…)"),
    ("T.writes(D[vi, vj])", "T.writes(C[vi, vj])", "E0413", "D[vi, vj] = T.float32(0)", "T.writes(…)"),
    ("with T.init():", "with T.int():", "E0103", "int", ""),
    ("with T.init():", "if T.init():", "E0202", "T.init()", ""),
    ("D[vi, vj] = T.float32(0)\n            D", "D[vi, vj] = 0.0\n        D", "E0101", "vi", ""),
    ("D[vi, vj] = D[vi, vj] + A[vi, vk] * B[vk, vj]", "D[vi, vj] = D[vi, vj] + A[vi] * B[vk, vj]", "E0235", "A[vi]", ""),
    ("D[vi, vj] = D[vi, vj] + A[vi, vk] * B[vk, vj]", "D[vi, vj] == D[vi, vj] + A[vi, vk] * B[vk, vj]", "E0207", "D[vi, vj] == D[vi, vj] + A[vi, vk] * B[vk, vj]", "="),
    ("D[vi, vj] = D[vi, vj] + A[vi, vk] * B[vk, vj]", "D(vi, vj) = D[vi, vj] + A[vi, vk] * B[vk, vj]", "E0015", "D(vi, vj)", "["),
    ("D[vi, vj] = D[vi, vj] + A[vi, vk] * B[vk, vj]", "D[vi, vj] = D[vi, vj] + A[vi, vk] @ B[vk, vj]", "E0013", "@", ""),
    ("D[vi, vj] = D[vi, vj] + A[vi, vk] * B[vk, vj]", "D[vi][vj] = D[vi, vj] + A[vi, vk] * B[vk, vj]", "E0235", "D[vi]", "dimension"),
    ("T.max(D[vi, vj], T.float32(0))", "T.maximum(D[vi, vj], T.float32(0))", "E0103", "maximum", "max"),
    ("T.max(D[vi, vj], T.float32(0))", "max(D[vi, vj], T.float32(0))", "E0202", "max(D[vi, vj], T.float32(0))", "T.max"),
    ("T.max(D[vi, vj], T.float32(0))", "T.max(D[vi, vj])", "E0105", "T.max(D[vi, vj])", ""),
    ("T.max(D[vi, vj], T.float32(0))", "R.nn.relu(D[vi, vj])", "E0201", "R.nn", "T."),
    ("T.max(D[vi, vj], T.float32(0))", "T.max(E[vi, vj], T.float32(0))", "E0101", "E", ""),
    ("T.max(D[vi, vj], T.float32(0))", "T.max(D[vi, vj + 1], T.float32(0))", "E0414", "vj + 1", ""),
    ('D = T.alloc_buffer((16, 8), "float32")', 'D = T.alloc_bufer((16, 8), "float32")', "E0103", "alloc_bufer", "alloc_buffer"),
    ('D = T.alloc_buffer((16, 8), "float32")', 'D = T.alloc_buffer((16, 8), "float23")', "E0202", '"float23"', "float32"),
    ('D = T.alloc_buffer((16, 8), "float32")', 'D = T.alloc_buffer(16, 8, "float32")', "E0202", "8", "one tuple"),
    ('A: T.Buffer((16, 32), "float32")', 'A: T.Buffer(16, 32, "float32")', "E0202", "32", "one tuple"),
    ('A: T.Buffer((16, 32), "float32")', 'A: T.Bufer((16, 32), "float32")', "E0103", "Bufer", "Buffer"),
    ('A: T.Buffer((16, 32), "float32")', 'A: R.Tensor((16, 32), "float32")', "E0201", "R.Tensor", "T.Buffer"),
    ('A: T.Buffer((16, 32), "float32")', "A", "E0208", "A", "T.Buffer"),
    ('S.get_block("matmul")', 'S.get_block("matmull")', "E0502", '"matmull"', "matmul"),
    ('S.get_block("matmul")', "S.get_block(matmul)", "E0101", "matmul", ""),
    ('S.get_block("matmul")', 'S.getblock("matmul")', "E0103", "getblock", "get_block"),
    ("i, j, k = S.get_loops(block)", "i, j = S.get_loops(block)", "E0101", "k", ""),
    ("i, j, k = S.get_loops(block)", "i, j, k = S.get_loop(block)", "E0103", "get_loop", "get_loops"),
    ("factors=[None, 4]", "factor=[None, 4]", "E0105", "factor=[None, 4]", "factors"),
    ("factors=[None, 4]", "factors=[None, None]", "E0506", "[None, None]", "all factors but one"),
    ("S.reorder(i0, k, i1, j)", "S.reorder(i, k, i1, j)", "E0503", "i", ""),
    ("S.reorder(i0, k, i1, j)", "S.reorder(i0, k, i1, jj)", "E0101", "jj", "j"),
    ("S.vectorize(j)", "S.vectorise(j)", "E0103", "vectorise", "vectorize"),
    ("S.vectorize(j)", "S.vectorize(k)", "E0524", "k", ""),
    ("S.schedule tiled(main)", "S.schedule tiled(mian)", "E0102", "mian", "main"),
    ("S.schedule tiled(main)", "S.schedule tiled()", "E0105", "tiled", "function"),
)  # fmt: skip
PLAIN_MISTAKES = mistakes(
    PLAIN,
    ("= T.float32(2)", "= null", "E0101", "null", "write None"),
    ("= T.float32(2)", "= true", "E0101", "true", "write True"),
    ("= T.float32(2)", "= inf", "E0101", "inf", 'T.float32("inf")'),
    ("T.serial(n)", "T.serial(threadIdx)", "E0101", "threadIdx", "S.bind(loop, "),
    ("T.handle", "T.handel", "E0103", "handel", "handle"),
    ("n: T.int32", "n: int", "E0202", "int", "T.int32"),
    ("n: T.int32", 'n: "int32"', "E0208", '"int32"', "T.int32"),
    ("n: T.int32", "n", "E0208", "n", "T.int32"),
    ("T.match_buffer(a, (n,), ", "T.match_bufer(a, (n,), ", "E0103", "match_bufer", "match_buffer"),
    ("T.match_buffer(a, (n,), ", "T.match_buffer(b, (n,), ", "E0101", "b", "a"),
    ("x: T.float32 = T.float32(2)", "float x = 2", "E0013", "float x", "x:"),
    ("x: T.float32 = T.float32(2)", "x: T.float32 = T.float64(2)", "E0230", "T.float64(2)", ""),
    ("x: T.float32 = T.float32(2)", "x: T.float = 2.0", "E0103", "float", "float"),
    ("for i in T.serial(n):", "for i in T.serial n:", "E0008", "n", ""),
    ("for i in T.serial(n):", "for (i = 0; i < n; i++):", "E0008", "=", ""),
    ("for i in T.serial(n):", "for i in n:", "E0207", "n", "range(n)"),
    ("for i in T.serial(n):", "for i in range[n]:", "E0207", "range[n]", "range("),
    ("for i in T.serial(n):", "while i < n", "E0008", "", ":"),
    ("if i < 8:", "if (i < 8) {", "E0013", "{", ""),
    ("if i < 8:", "if i < 8 && n > 2:", "E0013", "&&", "and"),
    ("if i < 8:", "if i < 8 || n > 2:", "E0013", "||", "or"),
    ("if i < 8:", "if !(i < 8):", "E0013", "!", "not"),
    ("if i < 8:", "if i = 8:", "E0008", "=", "=="),
    ("if i < 8:", "if i is 8:", "E0013", "is", "=="),
    ("if i < 8:", "fi i < 8:", "E0008", "fi", "if"),
    ("else:", "esle:", "E0008", "esle", "else"),
    ("else:", "else if i < 9:", "E0013", "else if", "elif"),
    ("else:", "elsif i < 9:", "E0008", "elsif", "elif"),
    ("A[i] = x", "A[i] += y", "E0101", "y", ""),
    ("A[i] = x", "A[i]++ ; x", "E0013", "++", "+= 1"),
    ("A[i] = x", "A[i] := x", "E0013", ":=", "line of its own"),
    ("A[i] = x", "A{i} = x", "E0013", "{", ""),
    ("A[i] = x", "A[i = x", "E0009", "[", "]"),
    ("A[i] = x", "A = x", "E0211", "A", ""),
    ("A[i] = x", "A.i = x", "E0207", "A.i", ""),
    ("A[i] = x", "A[i, 0] = x", "E0235", "A[i, 0]", ""),
    ("A[i] = x", "A[x] = x", "E0233", "x", ""),
    ("A[i] = x", 'A["i"] = x', "E0205", '"i"', ""),
    ("T.exp(A[i])", "T.expp(A[i])", "E0103", "expp", "exp"),
    ("T.exp(A[i])", "exp(A[i])", "E0101", "exp", "T.exp"),
    ("T.exp(A[i])", "math.exp(A[i])", "E0101", "math", "T.exp"),
    ("T.exp(A[i])", "T.exp(A)", "E0202", "A", "A["),
    ("T.exp(A[i])", "T.exp(i)", "E0443", "i", "float"),
    ("T.float32(0)\n", "float32(0)\n", "E0101", "float32", "T.float32"),
    ("T.float32(0)\n", "T.float32(O)\n", "E0101", "O", ""),
    ("T.float32(0)\n", "T.float32(0\n", "E0009", "(", ")"),
    ("T.float32(0)\n", '"0"\n', "E0202", '"0"', ""),
    ("T.float32(0)\n", "None\n", "E0202", "None", ""),
    ("T.prim_func main", "T.primfunc main", "E0103", "primfunc", "prim_func"),
    ("T.prim_func main", "T.prim_func", "E0008", "T.prim_func", "name"),
    ("T.prim_func main", "prim_func main", "E0101", "prim_func", "T.prim_func"),
    ("T.prim_func main", "def main", "E0107", "main", "T.prim_func"),
    ("T.prim_func main", "func main", "E0101", "func", "T.prim_func"),
    (", n: T.int32):", ", n: T.int32)", "E0008", "", ":"),
    ("    for i", "   for i", "E0007", "   ", "indent"),
)  # fmt: skip
MISTAKES = [*GRAPH_MISTAKES, *LOOP_MISTAKES, *PLAIN_MISTAKES]


CONSEQUENCES = {
    "a call of a function whose head is wrong": ("""
I.ir_module Module:
    R.function other(x: R.Tensr((4,))):
        return x

    R.function main(x: R.Tensor((4,), "float32")):
        y = Module.other(x)
        return y
""", "E0301"),
    "a branch that binds a wrong value": ("""
R.function main(x: R.Tensor((), "bool"), y: R.Tensor((2,), "float32")):
    if x:
        z = R.ad(y, y)
    else:
        z = R.multiply(y, y)
    return z
""", "E0301"),
    "branches after a wrong condition": ("""
R.function main(x: R.Tensor((2,), "bool"), y: R.Tensor((2,), "float32")):
    if x:
        z = R.add(y, y)
    else:
        z = R.multiply(y, y)
    return z
""", "E0326"),
}  # fmt: skip
"""Programs with one mistake, what follows from it, and the only code that is reported."""


@pytest.mark.parametrize(("text", "code"), CONSEQUENCES.values(), ids=CONSEQUENCES)
def test_what_follows_from_a_mistake_is_not_reported(text: str, code: str) -> None:
    assert [problem.code for problem in diagnostics(text)] == [code]


def test_names_of_other_frameworks_lead_to_operators() -> None:
    from tvms.dsl.builder import remedies

    known = {op.script_name for op in relax_ops().values()}
    assert set(remedies._OF_TORCH.values()) - known == set()  # type: ignore[reportPrivateUsage]
    assert remedies._OF_TORCH.keys() & known == set()  # type: ignore[reportPrivateUsage]


@pytest.mark.parametrize("text", [GRAPH, LOOPS, PLAIN])
def test_the_programs_are_right(text: str) -> None:
    assert list(diagnostics(text)) == []


@each_mistake(MISTAKES)
def test_a_mistake_is_one_diagnostic(mistake: Mistake) -> None:
    check_mistake(mistake)
