"""Text to syntax tree: every form, as an outline of the tree, and depth."""

from __future__ import annotations

import ast
import functools
import math
from collections.abc import Sequence

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tvms.dsl import syntax
from tvms.dsl.parser import parse_syntax
from tvms.ir.base import Source


def parse(text: str) -> tuple[syntax.Stmt, ...]:
    file, diagnostics = parse_syntax(Source("test.tvms", text))
    assert diagnostics == ()
    return file.body


def outline(node: object) -> object:
    """Return a tree as nested tuples, without positions and trivia."""
    if isinstance(node, tuple):
        return [outline(item) for item in node]
    if not isinstance(node, syntax.Syntax):
        return node
    hidden = {"start", "end", "trivia", "name_start", "name_end"}
    fields = [name for name in node.__struct_fields__ if name not in hidden]
    return (type(node).__name__, *(outline(getattr(node, name)) for name in fields))


def expression(text: str) -> object:
    (statement,) = parse(text)
    assert isinstance(statement, syntax.ExprStmt)
    assert (statement.start, statement.end) == (0, len(text))
    return outline(statement.value)


A, B, C, D = (("Name", name) for name in "abcd")


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("a", A),
        ("((a))", A),
        ("()", ("Tuple", [])),
        ("(a,)", ("Tuple", [A])),
        ("(a, b)", ("Tuple", [A, B])),
        ("(a, b,)", ("Tuple", [A, B])),
        ("a,", ("Tuple", [A])),
        ("a, *b", ("Tuple", [A, ("Starred", B)])),
        ("[]", ("List", [])),
        ("[a, b,]", ("List", [A, B])),
        ("{}", ("Dict", [], [])),
        ("{a: b, c: d,}", ("Dict", [A, C], [B, D])),
        ("a.b.c", ("Attribute", ("Attribute", A, "b"), "c")),
        ("a()", ("Call", A, [], [])),
        ("a(b, *c, d=a,)", ("Call", A, [B, ("Starred", C)], [("Keyword", "d", A)])),
        ("a[()]", ("Subscript", A, [])),
        ("a[b, c]", ("Subscript", A, [B, C])),
        ("a[b,]", ("Subscript", A, [B])),
        (
            "a[b:c, ::d, :]",
            ("Subscript", A, [("Slice", B, C, None), ("Slice", None, None, D), ("Slice", None, None, None)]),
        ),
        ("a if b else c", ("Conditional", A, B, C)),
        ("a if b else c if d else a", ("Conditional", A, B, ("Conditional", C, D, A))),
        ("lambda: a", ("Lambda", [], A)),
        ("lambda a, b: c", ("Lambda", [("Param", "a", None, None), ("Param", "b", None, None)], C)),
        ("a + b * c", ("Binary", "+", A, ("Binary", "*", B, C))),
        ("a - b - c", ("Binary", "-", ("Binary", "-", A, B), C)),
        ("a ** b ** c", ("Binary", "**", A, ("Binary", "**", B, C))),
        ("-a ** -b", ("Unary", "-", ("Binary", "**", A, ("Unary", "-", B)))),
        ("not a == b", ("Unary", "not", ("Binary", "==", A, B))),
        ("not a and b", ("Binary", "and", ("Unary", "not", A), B)),
        ("a < b <= c", ("Binary", "and", ("Binary", "<", A, B), ("Binary", "<=", B, C))),
        ("a and b or c", ("Binary", "or", ("Binary", "and", A, B), C)),
        ("a | b ^ c & d", ("Binary", "|", A, ("Binary", "^", B, ("Binary", "&", C, D)))),
        ("~ + a << b", ("Binary", "<<", ("Unary", "~", ("Unary", "+", A)), B)),
        ("True", ("Constant", True)),
        ("None", ("Constant", None)),
        ("...", ("Constant", ...)),
        ("0x_fF", ("Constant", 255)),
        ("1_000", ("Constant", 1000)),
        (".5e-1", ("Constant", 0.05)),
        ("0o17", ("Constant", 15)),
        ("0b101", ("Constant", 5)),
        ("\"a\" 'b'", ("Constant", "ab")),
        ('"""a\n"b""c"""', ("Constant", 'a\n"b""c')),
        (r'"\n\t\\\"\'\x41\u00e9\U0001F600\101\0"', ("Constant", "\n\t\\\"'Aé😀A\0")),
        ('"a\\\nb"', ("Constant", "ab")),
        ("变量", ("Name", "变量")),
    ],
)
def test_expressions(text: str, tree: object) -> None:
    assert expression(text) == tree


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("a = b", ("Assign", A, B)),
        ("a, b = c", ("Assign", ("Tuple", [A, B]), C)),
        ("a[b] = c, d", ("Assign", ("Subscript", A, [B]), ("Tuple", [C, D]))),
        ("a: b", ("AnnAssign", A, B, None)),
        ("a: b = c", ("AnnAssign", A, B, C)),
        ("a //= b", ("AugAssign", A, "//", B)),
        ("a <<= b", ("AugAssign", A, "<<", B)),
        ("return", ("Return", None)),
        ("return a, b", ("Return", ("Tuple", [A, B]))),
        ("assert a", ("Assert", A, None)),
        ("assert a, b", ("Assert", A, B)),
        ("pass", ("Pass",)),
        ("import a.b as c, d", ("Import", [["c", "a.b"], ["d", "d"]])),
        ("from a.b import c as d, b", ("Import", [["d", "a.b.c"], ["b", "a.b.b"]])),
        ("from a import (b, c,)", ("Import", [["b", "a.b"], ["c", "a.c"]])),
        ("with a: b", ("With", A, None, [("ExprStmt", B)])),
        ("with a as b, c:\n  d", ("With", A, B, [("With", C, None, [("ExprStmt", D)])])),
        ("for a, b in c:\n\td", ("For", ("Tuple", [A, B]), C, [("ExprStmt", D)])),
        ("while a:\n  b\n  c", ("While", A, [("ExprStmt", B), ("ExprStmt", C)])),
        ("if a:\n  b\nelse:\n  c", ("If", A, [("ExprStmt", B)], [("ExprStmt", C)])),
        ("if a: b\nelif c: d", ("If", A, [("ExprStmt", B)], [("If", C, [("ExprStmt", D)], [])])),
    ],
)
def test_statements(text: str, tree: object) -> None:
    assert [outline(statement) for statement in parse(text)] == [tree]


def definition(
    head: object,
    name: str,
    params: object,
    returns: object,
    body: object,
    decorated: bool,
    types: Sequence[object] = (),
) -> object:
    return ("Definition", head, name, params, returns, body, decorated, [*types])


BODY = [("Pass",)]
PARAMS = [("Param", "a", B, None), ("Param", "c", None, None)]


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("a b:\n    pass", definition(A, "b", None, None, BODY, False)),
        ("a() b(a: b, c,) -> d:\n    pass", definition(("Call", A, [], []), "b", PARAMS, D, BODY, False)),
        ("a b(): pass", definition(A, "b", [], None, BODY, False)),
        ("class b(a):\n    pass", definition(None, "b", None, None, BODY, False)),
        ("class b():\n    pass", definition(None, "b", None, None, BODY, False)),
        ("def b(a: b, c) -> d:\n    pass", definition(None, "b", PARAMS, D, BODY, False)),
        ("def b[a: b, c](a: b, c):\n    pass", definition(None, "b", PARAMS, None, BODY, False, PARAMS)),
        ("@a\n\nclass b:\n    pass", definition(A, "b", None, None, BODY, True)),
        ("@a\ndef b():\n    pass", definition(A, "b", [], None, BODY, True)),
    ],
)
def test_definitions(text: str, tree: object) -> None:
    (statement,) = parse(text)
    assert isinstance(statement, syntax.Definition)
    assert outline(statement) == tree
    assert text[statement.name_start : statement.name_end] == "b"
    assert (statement.start, statement.end) == (0, len(text))


NATIVE = """\
I.ir_module Module:
    T.prim_func(private=True) f(a: T.handle):
        pass

    R.function g() -> R.Tensor:
        return x
"""
DECORATED = """\
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def f(a: T.handle):
        pass

    @R.function
    def g() -> R.Tensor:
        return x
"""


def test_both_spellings_are_the_same_tree() -> None:
    def undecorated(tree: object) -> object:
        if isinstance(tree, list):
            return [undecorated(item) for item in tree]
        if isinstance(tree, tuple):
            return tuple(undecorated(item) for item in (tree[:-2] if tree[0] == "Definition" else tree))
        return tree

    assert undecorated(outline(parse(NATIVE))) == undecorated(outline(parse(DECORATED)))


@pytest.mark.parametrize(
    "text", [NATIVE.replace("\n", "\r\n"), "\ufeff" + NATIVE, NATIVE.replace("    ", "\t"), "\f" + NATIVE]
)
def test_line_ends_marks_and_tabs_make_no_difference(text: str) -> None:
    assert outline(parse(text)) == outline(parse(NATIVE))


def test_lines_continue_in_brackets_and_after_backslashes() -> None:
    text = "a = b + \\\n    c\nd = (b\n+\n\n  c)\n"
    assert outline(parse(text)) == outline(parse("a = b + c\nd = (b + c)"))


def test_empty_texts() -> None:
    assert all(parse(text) == () for text in ("", "\n", "   ", "# a\n", "\ufeff", "\r\n\r\n", "\f\n"))


@given(st.integers(0, 2**64 - 1) | st.floats(min_value=0, allow_infinity=False, allow_nan=False) | st.text())
def test_literals_keep_their_value(value: float | str) -> None:
    if isinstance(value, str):
        value = value.encode("utf-8", "replace").decode()
    text = repr(value) if not isinstance(value, str) else '"' + "".join(f"\\U{ord(c):08x}" for c in value) + '"'
    (statement,) = parse(text)
    assert isinstance(statement, syntax.ExprStmt)
    assert isinstance(statement.value, syntax.Constant)
    assert statement.value.value == value


SYMBOLS: dict[type[ast.AST], str] = {
    ast.USub: "-", ast.UAdd: "+", ast.Invert: "~", ast.Not: "not", ast.Add: "+", ast.Sub: "-", ast.Mult: "*",
    ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**", ast.LShift: "<<", ast.RShift: ">>",
    ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.Lt: "<", ast.LtE: "<=", ast.Eq: "==", ast.NotEq: "!=",
    ast.And: "and", ast.Or: "or",
}  # fmt: skip
OPERATORS = ["+", "-", "*", "/", "//", "%", "**", "<<", ">>", "&", "|", "^", "<", "<=", "==", "!=", "and", "or"]


@given(
    st.lists(
        st.tuples(st.sampled_from(["", "-", "~", "+-"]), st.sampled_from("abc"), st.sampled_from(OPERATORS)), min_size=1
    )
)
def test_precedence_is_that_of_python(parts: list[tuple[str, str, str]]) -> None:
    text = " ".join(f"{sign}{name} {operator}" for sign, name, operator in parts) + " d"

    (statement,) = parse(text)
    assert isinstance(statement, syntax.ExprStmt)
    (peer,) = ast.parse(text).body
    assert isinstance(peer, ast.Expr)
    assert explicit(statement.value) == explicit_in_python(peer.value)


def explicit(node: syntax.Expr) -> str:
    match node:
        case syntax.Name():
            return node.id
        case syntax.Unary():
            return f"({node.op} {explicit(node.operand)})"
        case syntax.Binary():
            return f"({explicit(node.left)} {node.op} {explicit(node.right)})"
        case _:
            raise AssertionError(node)


def explicit_in_python(node: ast.expr) -> str:
    def pairs(operands: list[str], operators: list[str]) -> list[str]:
        return [f"({operands[i]} {operator} {operands[i + 1]})" for i, operator in enumerate(operators)]

    def joined(parts: list[str], operator: str) -> str:
        return functools.reduce(lambda left, right: f"({left} {operator} {right})", parts)

    match node:
        case ast.Name():
            return node.id
        case ast.UnaryOp():
            return f"({SYMBOLS[type(node.op)]} {explicit_in_python(node.operand)})"
        case ast.BinOp():
            left, right = explicit_in_python(node.left), explicit_in_python(node.right)
            return f"({left} {SYMBOLS[type(node.op)]} {right})"
        case ast.BoolOp():
            parts = [explicit_in_python(value) for value in node.values]
            return joined(parts, SYMBOLS[type(node.op)])
        case ast.Compare():
            operands = [explicit_in_python(value) for value in (node.left, *node.comparators)]
            return joined(pairs(operands, [SYMBOLS[type(op)] for op in node.ops]), "and")
        case _:
            raise AssertionError(node)


@pytest.mark.parametrize(
    ("text", "levels"),
    [
        ("(" * 10_000 + "a" + ")" * 10_000, 1),
        ("a" + " + a" * 10_000, 10_000),
        ("-" * 10_000 + "a", 10_000),
        ("a" + "[0]" * 10_000, 10_000),
        ("a if b else " * 10_000 + "c", 10_000),
        ("a" + " < a" * 10_000, 10_000),
        ("".join(" " * level + "if a:\n" for level in range(2_000)) + " " * 2_000 + "b", 2_000),
        ("if a:\n b\n" + "elif a:\n b\n" * 10_000, 10_000),
    ],
)
def test_depth(text: str, levels: int) -> None:
    depth, frontier = 0, list[object](parse(text))
    while frontier:
        depth += 1
        frontier = [child for node in frontier for child in children(node)]
        if depth > levels:
            return
    assert depth >= levels


def children(node: object) -> list[object]:
    if isinstance(node, tuple):
        return list(node)
    return list(msgspec.structs.astuple(node)) if isinstance(node, msgspec.Struct) else []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(" * 30_000, "brackets nest more than 20,000 deep"),
        ("".join(" " * level + "if a:\n" for level in range(5_100)), "blocks nest more than 5,000 deep"),
        ("#" * (16 * 2**20 + 1), "the text is longer than 16 MiB"),
        ("9" * 5_000, "this integer has more than 64 bits"),
    ],
)
def test_limits(text: str, message: str) -> None:
    _, diagnostics = parse_syntax(Source("test.tvms", text))
    assert [(diagnostic.code, diagnostic.message) for diagnostic in diagnostics] == [("E0010", message)]


def test_floats_are_finite() -> None:
    (statement,) = parse("1.7e308")
    assert isinstance(statement, syntax.ExprStmt)
    assert isinstance(statement.value, syntax.Constant)
    assert isinstance(statement.value.value, float)
    assert math.isfinite(statement.value.value)
