"""Loop functions and modules from text: cases of kind `tir`, with the parts of `test_builder_relax`.

Besides what each case pins, all of them keep the laws of reading: what is printed reads back as the same program in
every dialect, comments are neither lost nor doubled, and every node knows where it was written.
"""

from __future__ import annotations

import re

import pytest
from text_cases import read_cases
from tvms.dsl.load import parse
from tvms.ir import tir
from tvms.ir.base import IRModule, Trivia
from tvms.ir.diagnostics import TvmsError
from tvms.ir.equal import structural_equal
from tvms.ir.visit import walk


def cases_with(part: str) -> list[object]:
    """Return the cases that have a part: the text that is given, and the part."""
    return [pytest.param(c.parts["given"], c.parts[part], id=c.id) for c in read_cases("tir") if part in c.parts]


@pytest.mark.parametrize(("given", "expected"), cases_with("prints"))
def test_prints(given: str, expected: str) -> None:
    assert parse(given, "case.tvms").script().rstrip("\n") == expected.rstrip("\n")


@pytest.mark.parametrize(("given", "expected"), cases_with("says"))
def test_says(given: str, expected: str) -> None:
    with pytest.raises(TvmsError) as caught:
        parse(given, "case.tvms")
    assert str(caught.value).rstrip("\n") == expected.rstrip("\n")
    assert all(diagnostic.help for diagnostic in caught.value.diagnostics)


@pytest.mark.parametrize("dialect", ["tvms", "tvm-0.21", "tvm-0.27"])
@pytest.mark.parametrize(("given", "expected"), cases_with("prints"))
def test_what_is_printed_reads_back(given: str, expected: str, dialect: str) -> None:
    module = parse(given)
    if module.schedules and dialect != "tvms":
        pytest.skip("TVM has no text for schedules")
    text = module.script(dialect)
    again = parse(text)
    assert again.script(dialect) == text
    if dialect != "tvm-0.27":  # where a binding reaches to the end of its body, so that `with` cannot be kept
        assert structural_equal(module, again)


@pytest.mark.parametrize(("given", "expected"), cases_with("prints"))
def test_comments_are_neither_lost_nor_doubled(given: str, expected: str) -> None:
    def comments(text: str) -> list[str]:
        own = re.findall(r"(?:^|\s)(# .*)$", text, flags=re.M)
        return sorted(comment for comment in own if not comment.startswith("# from"))

    assert comments(given) == comments(expected)


@pytest.mark.parametrize(("given", "expected"), cases_with("prints"))
def test_every_statement_knows_its_place(given: str, expected: str) -> None:
    for function in parse(given).functions.values():
        for node in walk(function):
            if isinstance(node, tir.Stmt) and not isinstance(node, tir.SeqStmt | tir.Block):
                is_root = isinstance(node, tir.BlockRealize) and node.block.name_hint == "root"
                is_empty = isinstance(node, tir.Evaluate) and isinstance(node.value, tir.IntImm)
                assert is_root or is_empty or (node.span and node.span.start < node.span.end), type(node)


def test_both_spellings_are_one_program() -> None:
    body = (
        '(A: T.Buffer((4,), "int32"), n: T.int64) -> T.int32:\n        A[0] = T.Cast("int32", n)\n        return A[0]\n'
    )
    native = parse(f"I.ir_module Module:\n    T.prim_func(private=True) f{body}")
    decorated = parse(f"@I.ir_module\nclass Module:\n    @T.prim_func(private=True)\n    def f{body}")
    imported = parse(
        "import tvm.script\nfrom tvm.script import tir as T\n"
        f"@tvm.script.ir_module\nclass Module:\n    @T.prim_func(private=True)\n    def f{body}"
    )
    assert structural_equal(native, decorated)
    assert structural_equal(native, imported)


def dtype_of(expression: str) -> str:
    """Return the dtype of an expression over buffers A (float16) and B (int8) and scalars n (int32) and m (int64)."""
    head = 'T.prim_func f(A: T.Buffer((4,), "float16"), B: T.Buffer((4,), "int8"), n: T.int32, m: T.int64):\n'
    function = parse(f"{head}    T.evaluate({expression})\n")["f"]
    assert isinstance(function, tir.PrimFunc)
    assert isinstance(function.body, tir.Evaluate)
    return function.body.value.dtype


@pytest.mark.parametrize(
    ("expression", "dtype"),
    [
        ("1", "int32"), ("2147483648", "int64"), ("1.0", "float32"), ("True", "bool"), ("n + 1", "int32"),
        ("m + 1", "int64"), ("n + m", "int64"), ("A[0] + 1", "float16"), ("A[0] * 2.0", "float32"),
        ("A[0] > 2.0", "bool"), ("B[0] + n", "int32"), ("n < m", "bool"), ("not n > 1", "bool"),
        ("A[0:4:1]", "float16x4"), ("T.Ramp(0, 1, 4) > n", "boolx4"), ("T.exp(A[0])", "float16"),
        ("A[0] == 1 and n == 1", "bool"), ("-B[0]", "int8"), ("n << 1", "int32"), ("T.max(n, m)", "int64"),
        ("T.if_then_else(n > 1, A[0], 1)", "float16"), ("A.data", "handle"), ("T.float64(1)", "float64"),
    ],
)  # fmt: skip
def test_dtypes(expression: str, dtype: str) -> None:
    assert dtype_of(expression) == dtype


@pytest.mark.parametrize(
    ("body", "has_root"),
    [
        ("A[0] = 1", False),
        ("B = T.alloc_buffer((4,))\nA[0] = 1", True),
        ('with T.block("b"):\n    A[0] = 1', False),
        ('with T.block("root"):\n    A[0] = 1', False),
        ('for i in range(4):\n    with T.block("b"):\n        vi = T.axis.spatial(4, i)\n        A[vi] = 1', True),
        ('with T.block("a"):\n    A[0] = 1\nwith T.block("b"):\n    A[1] = 1', True),
    ],
)
def test_a_root_block_is_put_where_tvm_puts_one(body: str, has_root: bool) -> None:
    indented = "".join(f"    {line}\n" for line in body.split("\n"))
    function = parse('T.prim_func f(A: T.Buffer((4,), "int32")):\n' + indented)["f"]
    assert isinstance(function, tir.PrimFunc)
    outermost = function.body.block if isinstance(function.body, tir.BlockRealize) else None
    assert (outermost is not None and outermost.name_hint == "root" and outermost.span is None) == has_root
    if outermost is not None:
        assert (outermost.reads, outermost.writes) == ((), ())


DEPTH = 10_000


@pytest.mark.parametrize(
    "value",
    ["n + " * DEPTH + "1", "(" * DEPTH + "n" + ")" * DEPTH, "-" * DEPTH + "n", "T.likely(" * 1000 + "n" + ")" * 1000],
    ids=["sum", "parentheses", "signs", "calls"],
)
def test_expressions_nest_deep(value: str) -> None:
    assert isinstance(parse(f'T.prim_func f(A: T.Buffer((4,), "int32"), n: T.int32):\n    A[0] = {value}\n'), IRModule)


def test_loops_nest_deep() -> None:
    depth = 1000
    lines = [f"{' ' * (level + 4)}for i{level} in range(4):\n" for level in range(depth)]
    text = 'T.prim_func f(A: T.Buffer((4,), "int32")):\n' + "".join(lines) + " " * (depth + 4) + "A[i0] = 1\n"
    loops = [node for node in walk(parse(text)["f"]) if isinstance(node, tir.For)]
    assert len(loops) == depth


def test_comments_of_a_module_stand_on_it() -> None:
    text = "#tvms 1\n# the file\n\n# the module\nI.ir_module Module:  # beside\n    pass\n\n# below everything\n"
    trivia = parse(text).trivia
    assert trivia == Trivia(("# the file", "# the module"), "# beside", ("# below everything",))
