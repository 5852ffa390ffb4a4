"""The verifier: every mistake is found and said in full, whole programs have none, and nothing is certain by accident."""

import re
import sys
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from text_cases import read_cases
from tvms.dsl.diagnostics import render
from tvms.dsl.load import load_module, parse
from tvms.ir import make, tir
from tvms.ir.base import IRModule, Op
from tvms.ir.codes import CODES
from tvms.ir.verify import CHECKS, LEVELS, verify
from tvms.ir.visit import rewrite, walk

sys.path.insert(0, str(Path(__file__).parent))
from ir_programs import X, Y, deep, functions, nest, renamed

ROOT = Path(__file__).parents[2]
CASES = [(case.title, case.parts["given"], case.parts["says"]) for case in read_cases("verify")]


@pytest.mark.parametrize(("name", "text", "says"), CASES, ids=[case[0] for case in CASES])
def test_what_is_said(name: str, text: str, says: str) -> None:
    found = verify(parse(text), "races")
    assert render(found).strip() == says.strip()
    assert all(diagnostic.code in CODES for diagnostic in found)


def test_there_are_cases() -> None:
    assert len(CASES) > 30


def test_every_check_says_something_in_a_case() -> None:
    said = set(re.findall(r"\[(E04\d\d)\]", "".join(says for *_, says in CASES)))
    missing = [check.name for check in CHECKS if not said & set(check.codes)]
    assert missing == ["parts"]  # no text makes such nodes; they are made below


def test_levels_include_those_before_them() -> None:
    for _, text, _ in CASES:
        module = parse(text)
        found = [set(verify(module, level)) for level in LEVELS]
        assert all(a <= b for a, b in pairwise(found))
        assert found[0] == set()


def test_the_law_is_documented() -> None:
    page = (ROOT / "docs" / "law.md").read_text()
    rows = re.findall(r"^\| `([\w-]+)` \| (\w+) \| (.+?) \| (.+?) \|$", page, re.MULTILINE)
    assert rows == [(check.name, check.level, ", ".join(check.codes), check.law) for check in CHECKS]
    assert all(code in CODES for check in CHECKS for code in check.codes)


@pytest.mark.parametrize("path", sorted((ROOT / "samples").glob("*.tvms")), ids=lambda path: path.name)
def test_the_samples_obey_the_law(path: Path) -> None:
    assert render(verify(load_module(str(path)), "races", strict=True)) == ""


@given(functions)
def test_generated_functions_obey_the_law(function: tir.PrimFunc) -> None:
    assert verify(function) == ()
    assert verify(renamed(function)) == ()


def codes(node: tir.PrimFunc) -> list[str]:
    return [diagnostic.code for diagnostic in verify(node)]


def changed(value: tir.PrimExpr) -> tir.PrimFunc:
    """A function that is fine, but for the value that it stores."""
    return rewrite(nest([X]), lambda node: replace(node, value=value) if isinstance(node, tir.BufferStore) else None)


F = tir.Var("float32", "f")
(BUFFER,) = nest([X]).buffer_map.values()


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (tir.Add("int32", make.const(1), make.const(1, "int64")), "E0405"),
        (tir.Cast("int32", tir.Add("int64", make.const(1), make.const(1))), "E0405"),
        (tir.LT("int32", make.const(1), make.const(1)), "E0405"),
        (tir.Select("int32", make.const(True), make.const(1), make.const(1, "int8")), "E0405"),
        (tir.Select("int32", make.const(1.0), make.const(1), make.const(1)), "E0406"),
        (tir.Cast("int32", tir.And("bool", make.const(1.0), make.const(True))), "E0406"),
        (tir.Cast("int32", tir.Not("bool", make.const(1.0))), "E0406"),
        (make.const(1, "int64"), "E0407"),
        (make.const(1.0), "E0407"),
        (tir.Let("int32", F, make.const(1), make.const(1)), "E0407"),
        (tir.Call("int32", Op("tir.clz"), ()), "E0105"),
        (tir.Call("int32", Op("tir.if_then_else"), (make.const(True), make.const(1))), "E0105"),
        (X, "E0401"),
    ],
)
def test_wrong_values(value: tir.PrimExpr, code: str) -> None:
    assert codes(changed(value)) == [code]


@pytest.mark.parametrize(
    ("indices", "code"),
    [((), "E0235"), ((make.const(0), make.const(0)), "E0235"), ((make.const(0.0),), "E0406")],
)
def test_wrong_indices(indices: tuple[tir.PrimExpr, ...], code: str) -> None:
    def change(node: object) -> tir.BufferStore | None:
        return replace(node, indices=indices) if isinstance(node, tir.BufferStore) else None

    assert codes(rewrite(nest([X]), change)) == [code]


def test_one_variable_for_two_loops_and_a_block_with_too_few_values() -> None:
    loop = nest([make.const(0)]).body
    assert isinstance(loop, tir.For)
    twice = replace(nest([X]), body=replace(loop, body=replace(loop, body=tir.Evaluate(make.const(0)))))
    assert codes(twice) == ["E0402"]
    axis = tir.IterVar(tir.Range(make.const(0), make.const(8)), X, tir.IterVarType.DATA_PAR)
    block = tir.Block((axis,), (), (), "b", tir.Evaluate(make.const(0)))
    assert codes(tir.PrimFunc((), tir.BlockRealize((), make.const(True), block))) == ["E0410"]


@pytest.mark.parametrize(("second", "expected"), [("A[0]", []), ("A[0] + 1", ["E0402"])])
def test_a_let_may_stand_in_an_expression_twice(second: str, expected: list[str]) -> None:
    let = "T.Let(x + 1, where={{x: {}}})"
    total = f"{let.format('A[0]')} + {let.format(second)}"
    text = f"""T.prim_func main(A: T.Buffer((1,), "int32")):
    x = T.int32()
    A[0] = {total}
"""
    function = parse(text)["main"]
    assert isinstance(function, tir.PrimFunc)
    assert codes(function) == expected


@given(st.integers(1, 20), st.integers(-3, 3), st.integers(-12, 12), st.integers(0, 20))
def test_an_access_is_outside_exactly_when_a_run_says_so(extent: int, factor: int, offset: int, limit: int) -> None:
    index = f"i * {factor} + {offset}"
    text = (
        'T.prim_func f(A: T.Buffer((16,), "float32")):\n'
        f"    for i in range({extent}):\n        if i < {limit}:\n            A[{index}] = T.float32(0)\n"
    )
    reached = [i * factor + offset for i in range(min(extent, limit))]
    is_outside = any(not 0 <= number < 16 for number in reached)
    assert [diagnostic.code for diagnostic in verify(parse(text))] == ["E0414"] * is_outside


@pytest.mark.parametrize(
    "body",
    [
        "if A[0] < T.float32(1):\n    A[8] = T.float32(0)",
        "for i in range(n):\n    A[i] = T.float32(0)",
        "for i in range(0):\n    A[i + 8] = T.float32(0)",
        "while A[0] < T.float32(1):\n    A[8] = T.float32(0)",
        "A[n] = T.float32(0)",
        "A[0] = T.if_then_else(n < 8, A[n], T.float32(0))",
        'for i in range(16):\n    with T.block("b"):\n        T.where(i < 8)\n        v = T.axis.spatial(8, i)\n        A[v] = T.float32(0)',
        "for i, j in T.grid(4, 4):\n    if i * 4 + j < 8:\n        A[i * 4 + j] = T.float32(0)",
        "for i in T.parallel(8):\n    if i == 0:\n        A[0] = A[0] + T.float32(1)",
        "for i in T.parallel(8):\n    A[0] = T.float32(1)",
        "for i in T.parallel(1):\n    A[0] = A[0] + T.float32(1)",
    ],
)
def test_what_is_not_certain_is_not_said(body: str) -> None:
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    text = f'T.prim_func f(A: T.Buffer((8,), "float32"), n: T.int32):\n{lines}'
    assert render(verify(parse(text), "races")) == ""


def test_reductions_may_start_anew_with_the_block_around_them() -> None:
    text = """
T.prim_func f(A: T.Buffer((4, 8), "int32"), C: T.Buffer((4,), "int32")):
    for t, i in T.grid(4, 4):
        with T.block("rows"):
            vo = T.axis.spatial(4, i)
            for j in range(8):
                with T.block("sum"):
                    vi = T.axis.spatial(4, vo)
                    vj = T.axis.reduce(8, j)
                    with T.init():
                        C[vi] = 0
                    C[vi] = C[vi] + A[vi, vj]
"""
    assert verify(parse(text), "races") == ()


def test_an_empty_reduction_starts_its_elements() -> None:
    text = """
T.prim_func f(A: T.Buffer((4, "m"), "int32"), m: T.int32):
    C = T.alloc_buffer((4,), "int32")
    for i, k in T.grid(4, m):
        with T.block("sum"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = 0
            C[vi] = C[vi] + A[vi, vk]
    for i in range(4):
        with T.block("update"):
            vi = T.axis.spatial(4, i)
            C[vi] = C[vi] + 1
"""
    assert verify(parse(text), "races") == ()
    shorter = text.replace("T.grid(4, m)", "T.grid(3, m)")
    assert [diagnostic.code for diagnostic in verify(parse(shorter), "races")] == ["E0429"]


def test_any_depth() -> None:
    inner: tir.Stmt = tir.BufferStore(BUFFER, deep(10_000, make.const(0)), (make.const(0),))
    for _ in range(10_000):
        inner = tir.For(tir.Var("int32", "i"), make.const(0), make.const(2), tir.ForKind.SERIAL, inner)
    assert verify(replace(nest([X, Y]), body=inner, params=tuple(nest([X]).params))) != ()
    function = nest([X])
    inner = rewrite(inner, lambda node: replace(node, buffer=next(iter(function.buffer_map.values())))
                    if isinstance(node, tir.BufferStore) else None)  # fmt: skip
    assert verify(replace(function, body=inner)) == ()


STORE = next(
    node
    for node in walk(parse("T.prim_func f(A: T.Buffer((8,), 'int32')):\n    A[0] = 1\n").functions["f"])
    if isinstance(node, tir.BufferStore)
)
FOREIGN: Any = Fraction(1)


@pytest.mark.parametrize(
    ("field", "value", "says"),
    [
        ("value", FOREIGN, "holds a value of 'fractions.Fraction', which is not a node"),
        ("indices", (FOREIGN,), "holds a value of 'fractions.Fraction', which is not a node"),
        ("indices", (0,), "holds a value of 'builtins.int', which is not a node"),
        ("indices", X, "holds a Var, which does not belong there"),
        ("value", 1, "holds a value of 'builtins.int', which is not a node"),
        ("value", STORE, "holds a BufferStore, which does not belong there"),
        ("buffer", None, "holds a value of 'builtins.NoneType', which is not a node"),
    ],
)
def test_a_field_holds_what_it_is_declared_to_hold(field: str, value: Any, says: str) -> None:
    for statement in (replace(STORE, **{field: value}), tir.SeqStmt((STORE, replace(STORE, **{field: value})))):
        function = replace(nest([X]), body=statement)
        assert [diagnostic.message for diagnostic in verify(function)] == [f"field '{field}' of a BufferStore {says}"]
        assert [diagnostic.code for diagnostic in verify(IRModule({"f": function}), "races")] == ["E0440"]


def test_parts_of_signatures_and_attributes_are_nodes() -> None:
    function = nest([X])
    param, buffer = next(iter(function.buffer_map.items()))
    for broken in (
        replace(function, buffer_map={param: replace(buffer, shape=(FOREIGN,))}),
        replace(function, attrs={"key": (1, {"inner": FOREIGN})}),
        replace(function, params=(*function.params, "n")),
    ):
        assert codes(broken) == ["E0440"]
    assert codes(replace(function, attrs={"key": (1, {"inner": "text"}), "node": X, "none": None})) == []


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16"])
def test_steps_of_reductions_wrap_around_like_their_dtype(dtype: str) -> None:
    text = f'''\
T.prim_func f(A: T.Buffer((8, 8), "{dtype}"), B: T.Buffer((8,), "{dtype}")):
    for i, k in T.grid(8, 8):
        with T.block("product"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = T.{dtype}(96)
            if A[vi, vk] > T.{dtype}(2):
                B[vi] = B[vi] * A[vi, vk]
            else:
                B[vi] = T.Cast("{dtype}", T.Cast("int32", B[vi]) * T.Cast("int32", A[vi, vk]))
'''
    assert verify(parse(text), "races") == ()


@pytest.mark.parametrize(
    ("start", "update", "depends"),
    [
        ("0", "{old} * ({old} + A[vi, vk])", False),  # stays 0
        ("1", "{old} * ({old} + A[vi, vk])", True),
        ("T.if_then_else(vi < 3, 0, 2)", "{old} * ({old} + A[vi, vk])", True),
        ("T.if_then_else(vi < 3, 0, 2)", "T.if_then_else(vi < 3, {old} * ({old} + A[vi, vk]), 2)", False),
        ("T.if_then_else(vi < 4, 0, 2)", "T.if_then_else(vi < 3, {old} * ({old} + A[vi, vk]), 2)", False),
        ("T.if_then_else(vi < 2, 0, 2)", "T.if_then_else(vi < 3, {old} * ({old} + A[vi, vk]), 2)", True),
        ("B[vi]", "{old} * ({old} + A[vi, vk])", True),
        ("B[vi] - B[vi]", "{old} * ({old} + A[vi, vk])", False),
        ("B[vi]", "T.if_then_else({old} == B[vi], {old}, A[vi, vk])", False),  # stays the first value
    ],
)
def test_reductions_start_from_what_their_init_stores(start: str, update: str, depends: bool) -> None:
    text = f"""\
T.prim_func f(A: T.Buffer((8, 8), "int32"), B: T.Buffer((8,), "int32"), C: T.Buffer((8,), "int32")):
    for i, k in T.grid(8, 8):
        with T.block("steps"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = {start}
            C[vi] = {update.format(old="C[vi]")}
"""
    assert [found.code for found in verify(parse(text), "races")] == ["E0423"] * depends


_GUARDED = [
    ("C[5] > T.float32(0)", "C[i] = A[i]", True),
    ("not C[5] > T.float32(0)", "C[i] = A[i]", True),
    ("C[5] == T.float32(0) and i > 3", "C[i] = A[i]", True),
    ("C[0] == T.float32(0)", "C[i] = T.float32(1)", True),
    ("C[0] == T.float32(0)", "C[0] = T.float32(1)", False),  # all iterations may set a flag
    ("C[i] > T.float32(0)", "C[i] = A[i]", False),
    ("C[7] > T.float32(0) and i < 6", "C[i] = A[i]", False),
    ('C[5] > T.float32("inf")', "C[i] = A[i]", False),  # never true
    ("C[5] > A[5]", "C[i] = A[i]", False),  # not proven
    ("C[5] > T.float32(0) and A[5] > T.float32(0)", "C[i] = A[i]", False),  # inputs may exclude both
    ("A[5] > T.float32(0)", "A[5] = C[i]", False),  # not proven: each iteration writes it
    ("A[5] > T.float32(0)", "C[i] = A[i]", False),
]


@pytest.mark.parametrize(("condition", "store", "races"), _GUARDED)
@pytest.mark.parametrize("loop", ["T.parallel(8)", 'T.thread_binding(8, thread="blockIdx.x")'])
def test_a_condition_must_not_read_what_other_iterations_write(
    condition: str, store: str, races: bool, loop: str
) -> None:
    head = 'T.prim_func f(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):\n'
    lines = f"    for i in {loop}:\n        if {condition}:\n            {store}\n"
    assert [found.code for found in verify(parse(head + lines), "races")] == ["E0419"] * races
    before = "    C[5] = T.float32(-1)\n    A[5] = T.float32(-1)\n"  # may make the condition false
    assert not verify(parse(head + before + lines), "races")
