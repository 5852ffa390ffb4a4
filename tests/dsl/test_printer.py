"""Laws of printing that need no parser: literals, precedence, names, scopes, totality, depth and speed."""

from __future__ import annotations

import ast
import inspect
import math
import random
import struct

import pytest
import tvms
from msgspec.structs import replace
from tvms.dsl.printer.literals import identifier, short_float, string, tvm_float
from tvms.dsl.printer.printer import EXPRESSIONS, STATEMENTS
from tvms.dsl.testing.growth import check_growth
from tvms.ir import base, relax, tir
from tvms.ir.visit import substitute, walk

TRUE = tir.IntImm("bool", 1)


def int32(value: int) -> tir.IntImm:
    return tir.IntImm("int32", value)


def float32(value: float) -> tir.FloatImm:
    return tir.FloatImm("float32", value)


def int_var(name: str, dtype: str = "int32") -> tir.Var:
    return tir.Var(dtype, name)


def buffer(name: str, *shape: int, dtype: str = "float32", **fields: object) -> tir.Buffer:
    data = tir.Var("handle", name, tir.PointerType(tir.PrimType(dtype), "global"))
    return tir.Buffer(data, dtype, tuple(int32(extent) for extent in shape), name, **fields)


def loop(var: tir.Var, extent: int, body: tir.Stmt, **fields: object) -> tir.For:
    return tir.For(var, int32(0), int32(extent), tir.ForKind.SERIAL, body, **fields)


NOTHING = tir.Evaluate(int32(0))


# --- Literals -------------------------------------------------------------------------------------------------


def test_strings_read_back_exactly() -> None:
    samples = ["", 'a"b\\c', "tab\tline\nreturn\r", "\x00\x7f\x85\xa0", "grün 数 🎉", "\u2028", "\ud800", "\U000e0001"]
    samples += [chr(code) for code in range(0x250)]
    for text in samples:
        assert ast.literal_eval(string(text)) == text


def test_floats_read_back_exactly() -> None:
    generator = random.Random(7)
    values = [struct.unpack("d", generator.randbytes(8))[0] for _ in range(2000)]
    values += [0.0, -0.0, 0.1, 1e16, 1e22, 5e-324, 1.7976931348623157e308, 123456789.0]
    for value in values:
        for text in (short_float(value), tvm_float(value)):
            back = float(ast.literal_eval(text))
            assert math.isnan(back) if math.isnan(value) else struct.pack("d", back) == struct.pack("d", value)


@pytest.mark.parametrize(
    ("value", "short", "tvm"),
    [(0.0, "0", "0.0"), (-0.0, "-0.0", "-0.0"), (0.1, "0.1", "0.10000000000000001"), (1.5, "1.5", "1.5"),
     (math.inf, '"inf"', '"inf"'), (-math.inf, '"-inf"', '"-inf"'), (1e20, "1e+20", "100000000000000000000.0")],
)  # fmt: skip
def test_floats_are_spelt_as_each_dialect_has_it(value: float, short: str, tvm: str) -> None:
    assert (short_float(value), tvm_float(value)) == (short, tvm)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("x", "x"),
        ("a.b", "a_b"),
        ("2x", "v2x"),
        ("", "v"),
        ("lambda", "lambda_"),
        ("größe", "größe"),
        ("a²ﬁ b", "a___b"),
    ],
)
def test_names_become_identifiers(name: str, text: str) -> None:
    assert identifier(name) == text


# --- Expressions ----------------------------------------------------------------------------------------------

_SIGNS = {
    ast.Add: tir.Add, ast.Sub: tir.Sub, ast.Mult: tir.Mul, ast.FloorDiv: tir.FloorDiv, ast.Mod: tir.FloorMod,
    ast.Lt: tir.LT, ast.LtE: tir.LE, ast.Gt: tir.GT, ast.GtE: tir.GE, ast.Eq: tir.EQ, ast.NotEq: tir.NE,
    ast.And: tir.And, ast.Or: tir.Or,
}  # fmt: skip
_VARIABLES = {name: int_var(name) for name in "abcd"} | {name: int_var(name, "bool") for name in "pq"}


def read(node: ast.expr) -> tir.PrimExpr:
    """The tree that Python reads from a text."""
    if isinstance(node, ast.Name):
        return _VARIABLES[node.id]
    if isinstance(node, ast.UnaryOp):
        return tir.Not("bool", read(node.operand))
    if isinstance(node, ast.BinOp):
        return _SIGNS[type(node.op)]("int32", read(node.left), read(node.right))
    if isinstance(node, ast.Compare):
        (sign,), (right,) = node.ops, node.comparators
        return _SIGNS[type(sign)]("bool", read(node.left), read(right))
    assert isinstance(node, ast.BoolOp)
    value = read(node.values[0])
    for other in node.values[1:]:
        value = _SIGNS[type(node.op)]("bool", value, read(other))
    return value


def same(a: tir.PrimExpr, b: tir.PrimExpr) -> bool:
    if isinstance(a, tir.Var):
        return a is b
    fields = ("a",) if isinstance(a, tir.Not) else ("a", "b")
    return type(a) is type(b) and all(same(getattr(a, name), getattr(b, name)) for name in fields)


def grow(generator: random.Random, depth: int, dtype: str) -> tir.PrimExpr:
    if depth == 0 or generator.random() < 0.15:
        return _VARIABLES[generator.choice("abcd" if dtype == "int32" else "pq")]
    if dtype == "int32":
        kind = generator.choice([tir.Add, tir.Sub, tir.Mul, tir.FloorDiv, tir.FloorMod])
        return kind("int32", grow(generator, depth - 1, "int32"), grow(generator, depth - 1, "int32"))
    kind = generator.choice([tir.And, tir.Or, tir.Not, tir.LT, tir.EQ, tir.NE, tir.GE])
    if kind is tir.Not:
        return tir.Not("bool", grow(generator, depth - 1, "bool"))
    inner = "bool" if kind in (tir.And, tir.Or) else generator.choice(["int32", "int32", "bool"])
    return kind("bool", grow(generator, depth - 1, inner), grow(generator, depth - 1, inner))


@pytest.mark.parametrize("dialect", ["tvms", "tvm-0.21"])
def test_parentheses_keep_every_tree(dialect: str) -> None:
    seed = 20241
    generator = random.Random(seed)
    for _ in range(2000):
        tree = grow(generator, 5, generator.choice(["int32", "bool"]))
        text = tree.script(dialect)
        back = read(ast.parse(text, mode="eval").body)
        assert same(tree, back), (seed, text)


@pytest.mark.parametrize(
    ("node", "text"),
    [
        (tir.EQ("bool", tir.NE("bool", *[_VARIABLES["a"]] * 2), _VARIABLES["p"]), "(a != a) == p"),
        (tir.Add("int32", _VARIABLES["a"], int32(0)), "T.Add(a, 0)"),
        (tir.Div("int32", _VARIABLES["a"], _VARIABLES["b"]), "T.Div(a, b)"),
        (tir.Mod("int32", _VARIABLES["a"], _VARIABLES["b"]), "T.truncmod(a, b)"),
        (tir.Max("int32", _VARIABLES["a"], int32(-1)), "T.max(a, -1)"),
        (tir.Not("bool", TRUE), "T.Not(T.bool(True))"),
        (tir.Max("int32", int32(1), int32(-1)), "T.Max(1, -1)"),
        (tir.Call("int8", base.Op("tir.exp"), (int32(1),)), 'T.call_intrin("int8", "tir.exp", 1)'),
        (tir.Cast("int8", _VARIABLES["a"]), 'T.Cast("int8", a)'),
        (tir.Select("int32", TRUE, int32(1), int32(2)), "T.Select(T.bool(True), 1, 2)"),
        (tir.Ramp("int32x4", _VARIABLES["a"], int32(1), int32(4)), "T.Ramp(a, 1, 4)"),
        (tir.Broadcast("int32x4", int32(0), int32(4)), "T.Broadcast(0, 4)"),
        (tir.Shuffle("int32", (int32(0),), (int32(0),)), "T.Shuffle([0], [0])"),
        (tir.Let("int32", _VARIABLES["a"], int32(1), _VARIABLES["a"]), "T.Let(a, where={a: 1})"),
        (tir.Call("float32", base.Op("tir.exp"), (float32(1),)), "T.exp(T.float32(1.0))"),
        (tir.Call("int32", base.Op("tir.reinterpret"), (float32(1),)), 'T.reinterpret("int32", T.float32(1.0))'),
        (tir.Call("int32", base.Op("tir.tvm_call_packed"), (tir.StringImm("handle", "f"),)), 'T.call_packed("f")'),
        (tir.StringImm("handle", 'say "hi"'), '"say \\"hi\\""'),
        (tir.IntImm("int64", 3), "T.int64(3)"),
        (tir.PointerType(tir.PrimType("int8"), "shared"), 'T.handle("int8", "shared")'),
        (tir.TupleType((tir.PrimType("int8"),)), "T.Tuple(T.int8)"),
        (relax.ObjectStructInfo(), "R.Object"),
        (relax.ShapeStructInfo(), "R.Shape(ndim=-1)"),
        (relax.TensorStructInfo(None, "float32", 2), 'R.Tensor(dtype="float32", ndim=2)'),
        (relax.TensorStructInfo(), "R.Tensor"),
        (relax.TupleStructInfo(()), "R.Tuple"),
        (relax.FuncStructInfo(None, relax.ObjectStructInfo()), "R.Callable(purity=True)"),
        (relax.FuncStructInfo((), relax.TupleStructInfo(()), False), "R.Callable((), R.Tuple, False)"),
        (relax.PrimValue(tir.IntImm("int64", 1)), "R.prim_value(1)"),
        (relax.PrimValue(int32(1)), "R.prim_value(T.int32(1))"),
        (relax.Tuple(()), "R.tuple()"),
        (relax.TupleGetItem(relax.Var("x"), 1), "x[1]"),
        (relax.Placement((0, None)), '"S[0], R"'),
    ],
)  # fmt: skip
def test_expressions_print_as_tvm_prints_them(node: base.Node, text: str) -> None:
    assert node.script("tvm-0.21") == text


def test_native_literals_take_their_dtype_from_the_other_operand() -> None:
    i, x = int_var("i", "int64"), int_var("x", "float32")
    assert str(tir.Add("int64", i, tir.IntImm("int64", 2))) == "i + 2"
    assert str(tir.Mul("float32", float32(2), x)) == "2.0 * x"
    assert str(tir.Add("int64", tir.IntImm("int64", 2), tir.IntImm("int64", 2))) == "T.Add(T.int64(2), T.int64(2))"
    assert str(tir.Max("int64", i, tir.IntImm("int64", 2))) == "T.max(i, T.int64(2))"


# --- Statements -----------------------------------------------------------------------------------------------


def text_of(node: base.Node) -> list[str]:
    return node.script("tvm-0.21").splitlines()


def test_scopes_are_lines_where_they_are_the_rest_of_a_body_and_with_blocks_elsewhere() -> None:
    i, v = int_var("i"), int_var("v")
    let = tir.LetStmt(v, int32(1), tir.Evaluate(v))
    assert text_of(let) == ["with T.LetStmt(1) as v:", "    T.evaluate(v)"]
    assert text_of(loop(i, 8, let)) == ["for i in range(8):", "    v: T.int32 = 1", "    T.evaluate(v)"]
    assert text_of(loop(i, 8, tir.SeqStmt((let, NOTHING)))) == [
        "for i in range(8):", "    with T.LetStmt(1) as v:", "        T.evaluate(v)", "    T.evaluate(0)",
    ]  # fmt: skip


def test_names_are_free_again_where_their_scope_ends() -> None:
    def nest() -> tir.For:
        outer, inner = int_var("i"), int_var("i")
        return loop(outer, 2, tir.SeqStmt((NOTHING, loop(inner, 3, tir.Evaluate(tir.Add("int32", outer, inner))))))

    expected = ["for i in range(2):", "    T.evaluate(0)", "    for i_1 in range(3):", "        T.evaluate(i + i_1)"]
    assert text_of(tir.SeqStmt((nest(), nest()))) == expected * 2


def test_variables_that_nothing_defines_are_declared_around_all_their_uses() -> None:
    i, n, a = int_var("i"), int_var("n"), buffer("A", 8, dtype="int8")
    store = tir.BufferStore(a, tir.Cast("int8", n), (i,))
    assert text_of(tir.SeqStmt((loop(i, 8, store), tir.Evaluate(n)))) == [
        'n = T.int32()', "for i in range(8):", '    A = T.Buffer((8,), "int8")', '    A[i] = T.Cast("int8", n)',
        "T.evaluate(n)",
    ]  # fmt: skip


def test_a_handle_that_the_body_uses_keeps_its_parameter() -> None:
    a, b = tir.Var("handle", "a"), tir.Var("handle", "b")
    function = tir.PrimFunc(
        (a, b), tir.Evaluate(a), buffer_map={a: buffer("A", 128, 128), b: buffer("B", 256, 256)},
        attrs={"global_symbol": "main"},
    )  # fmt: skip
    assert text_of(function) == [
        "# from tvm.script import tir as T", "", "@T.prim_func",
        'def main(a: T.handle, B: T.Buffer((256, 256), "float32")):',
        "    A = T.match_buffer(a, (128, 128))", "    T.evaluate(a)",
    ]  # fmt: skip


def test_an_allocation_and_its_buffer_are_one_declaration() -> None:
    a = buffer("A", 16)
    body = tir.Allocate(
        a.data, "float32", a.shape, TRUE, tir.DeclBuffer(a, tir.BufferStore(a, float32(1), (int32(0),)))
    )
    assert text_of(loop(int_var("i"), 4, body)) == [
        "for i in range(4):", "    A = T.decl_buffer((16,))", "    A[0] = T.float32(1.0)",
    ]  # fmt: skip


def test_thread_launches_define_their_variable_where_they_hold_all_its_uses() -> None:
    tx = int_var("tx")
    axis = tir.IterVar(None, tx, tir.IterVarType.THREAD_INDEX, "threadIdx.x")
    launch, again = (tir.AttrStmt(axis, "thread_extent", int32(32), tir.Evaluate(tx)) for _ in range(2))
    assert text_of(launch) == ['with T.launch_thread("threadIdx.x", 32) as tx:', "    T.evaluate(tx)"]
    assert text_of(tir.SeqStmt((launch, again))) == [
        'tx = T.env_thread("threadIdx.x")',
        *["with T.launch_thread(tx, 32):", "    T.evaluate(tx)", "T.launch_thread(tx, 32)", "T.evaluate(tx)"],
    ]


def test_comments_stay_with_their_statement() -> None:
    i, j = int_var("i"), int_var("j")
    comments = base.Trivia(("# above",), "# beside", ("# below",))
    inner = loop(j, 2, tir.Evaluate(j, trivia=base.Trivia(after="# x")), trivia=comments)
    assert text_of(loop(i, 2, inner)) == [
        "for i in range(2):", "    # above", "    for j in range(2):  # beside", "        T.evaluate(j)  # x",
        "        # below",
    ]  # fmt: skip
    choice = tir.IfThenElse(TRUE, NOTHING, NOTHING, trivia=comments)
    assert text_of(choice) == [
        "# above", "if T.bool(True):  # beside", "    T.evaluate(0)", "else:", "    T.evaluate(0)", "    # below",
    ]  # fmt: skip


# --- Totality, depth, speed -----------------------------------------------------------------------------------


def test_empty_trivia_prints_as_none() -> None:
    first, second = int_var("i"), int_var("j")
    target = buffer("A", 4, 4)
    store = tir.BufferStore(target, float32(1.0), (first, second))
    block = tir.BlockRealize((), TRUE, tir.Block((), (), (), "b", store))
    root = tir.BlockRealize((), TRUE, tir.Block((), (), (), "root", loop(first, 4, loop(second, 4, block))))
    function = tir.PrimFunc((tir.Var("handle", "a"),), root, buffer_map={})
    commented = [node for node in walk(function) if isinstance(node, base.Commented)]
    assert len(commented) > 5
    for node in commented:
        assert substitute(function, {node: replace(node, trivia=base.Trivia())}).script() == function.script(), node


def test_every_kind_of_node_has_a_printer() -> None:
    kinds = {
        kind
        for room in (base, tir, relax)
        for _, kind in inspect.getmembers(room, inspect.isclass)
        if issubclass(kind, base.Node)
    }
    abstract = {
        base.Node, base.Commented, base.StructInfo, base.MissingType, base.RelaxExpr, base.BaseFunc, base.GlobalInfo, relax.Binding, tir.Type,
        tir.PrimExpr, tir.BinaryOp, tir.CmpOp, tir.Stmt,
    }  # fmt: skip
    printed = {kind for kind in {*EXPRESSIONS, *STATEMENTS} if not kind.__module__.startswith("tvms.ir.schedule")}
    assert kinds - abstract == printed


def test_programs_may_nest_ten_thousand_deep() -> None:
    x = int_var("x")
    left: tir.PrimExpr = x
    right: tir.PrimExpr = x
    body: tir.Stmt = NOTHING
    for _ in range(10_000):
        left = tir.Add("int32", left, x)
        right = tir.Max("int32", x, right)
        body = tir.LetStmt(int_var("v"), int32(1), body)
    assert str(left).count("+") == 10_000
    assert str(right).count("T.max") == 10_000
    assert str(body).count("T.LetStmt") + str(body).count(" = 1") == 10_000


def test_printing_takes_few_calls() -> None:
    a = buffer("A", 128, 128)
    i, j = int_var("i"), int_var("j")
    value = tir.Add("float32", tir.BufferLoad("float32", a, (i, j)), tir.BufferLoad("float32", a, (j, i)))
    store = tir.BufferStore(a, value, (i, j))

    def nest(stores: int) -> tir.For:
        return loop(i, 128, loop(j, 128, tir.SeqStmt((store,) * stores)))

    found = check_growth(lambda node: node.script("tvm-0.21"), 1000, nest)
    characters = len(nest(2).script("tvm-0.21")) - len(nest(1).script("tvm-0.21"))
    assert found.calls_of_one < 4 * characters


def test_declarations_among_many_lets_take_linear_work() -> None:
    """The text declares a free variable in the innermost scope that holds its uses, which has many statements inside."""

    def text(size: int) -> str:
        lines = "".join(
            f"  z{k} = i * {k} + 1\n  v{k} = T.var('float32')\n  A[i] = T.Let(v{k} + A[i], where={{v{k}: A[i]}})\n"
            for k in range(size)
        )
        return f"T.prim_func f(A: T.Buffer((16,), 'float32')):\n for i in range(16):\n{lines}"

    check_growth(
        lambda module: module.script("tvm-0.27"), 48, lambda size: tvms.parse(text(size)), lambda size: len(text(size))
    )
