"""What a short text may stand for: bombs of names, strings, tuples and macros are refused before they are built."""

from __future__ import annotations

import time
import tracemalloc
from contextlib import suppress
from itertools import product
from textwrap import dedent

import pytest
from tvms.dsl.builder.budget import BASE
from tvms.dsl.load import parse
from tvms.ir import tir
from tvms.ir.base import Node, Op
from tvms.ir.diagnostics import TvmsError
from tvms.ir.ops.tir import OPERATORS
from tvms.ir.visit import children

HEAD = 'T.prim_func f(A: T.Buffer((4,), "float32")):\n'


def _doublings(first: str, again: str, count: int = 60) -> str:
    lines = [f"    t0 = {first}\n", *(f"    t{i + 1} = {again.format(f't{i}')}\n" for i in range(count))]
    return HEAD + "".join(lines) + "    A[0] = T.float32(0)\n"


def _macros(depth: int) -> str:
    uses = (f"T.macro m{i + 1}(A):\n    m{i}(A)\n    m{i}(A)\n\n" for i in range(depth))
    return f"T.macro m0(A):\n    A[0] = T.float32(1)\n\n{''.join(uses)}{HEAD}    m{depth}(A)\n"


BOMBS = {
    "strings": _doublings('"ab"', "{0} + {0}"),
    "repeated strings": _doublings('"ab"', "{0} * 4", 30),
    "one string": _doublings('"a"', "{0} * 10**9", 1),
    "one string, from the right": _doublings('"a"', "10**9 * {0}", 1),
    "long strings": _doublings('"a" * 900_000', '{0} + "b"', 500),
    "tuples": _doublings("(1, 2)", "({0}, {0})"),
    "spread tuples": _doublings("(1, 2)", "(*{0}, *{0})"),
    "joined tuples": _doublings("(1, 2)", "{0} + {0}"),
    "lists": _doublings("[1, 2]", "[{0}, {0}]"),
    "dicts": _doublings('{"a": 1}', '{{"a": {0}, "b": {0}}}'),
    "expressions": _doublings("T.meta_var(A[0])", "T.meta_var({0} + {0})"),
    "calls": _doublings("T.meta_var(A[0])", "T.meta_var(T.max({0}, T.exp({0})))"),
    "lambdas": _doublings("T.meta_var(lambda x: x)", "T.meta_var(lambda x: {0}({0}(x)))").replace(
        "T.float32(0)", "t60(A[1])"
    ),
    "macros": _macros(60),
    "graph tuples": "R.function main(x: R.Tensor((4,), 'float32')):\n    t0 = (x, x)\n"
    + "".join(f"    t{i + 1} = (t{i}, t{i})\n" for i in range(60))
    + "    return x\n",
}


@pytest.mark.parametrize("text", BOMBS.values(), ids=BOMBS)
def test_a_bomb_is_refused(text: str) -> None:
    start = time.process_time()
    with pytest.raises(TvmsError) as caught:
        parse(text)
    assert time.process_time() - start < 120  # without the limit, it would not end
    diagnostic = caught.value.diagnostics[0]
    assert (diagnostic.code, diagnostic.message) == (
        "E0010",
        f"names and macros expand to more than {BASE + len(text):,} nodes",
    )


@pytest.mark.deep(4)
@pytest.mark.parametrize("name", [name for name in BOMBS if name != "macros"])
def test_a_bomb_takes_no_memory(name: str) -> None:
    tracemalloc.start()
    with pytest.raises(TvmsError):
        parse(BOMBS[name])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 50_000_000


def test_the_message_of_a_bomb() -> None:
    text = _doublings('"ab"', "{0} * 1000", 3)
    with pytest.raises(TvmsError) as caught:
        parse(text)
    assert str(caught.value) == dedent(f"""\
        error[E0010]: names and macros expand to more than {BASE + len(text):,} nodes
          --> <string>:5:10
           |
         5 |     t3 = t2 * 1000
           |          ^^
           = help: use a loop for repetitions, or a variable or buffer for a value that is used more than once""")


def test_a_text_may_use_what_it_names() -> None:
    uses = "".join(f"    A[{i % 4}] = t + T.float32({i})\n" for i in range(500))
    parse(HEAD + "    t = T.meta_var(T.exp(A[0]) * A[1] + A[2])\n" + uses)
    parse(_macros(8))


@pytest.mark.parametrize("value", ["2**4000 * 2**4000", "(2**4000)**4000", "1 << 5000", "2**(10**9)", "7**3000"])
def test_plain_integers_are_bounded(value: str) -> None:
    with pytest.raises(TvmsError, match="makes an integer of more than 4,096 bits"):
        parse(f"{HEAD}    t = {value}\n    A[0] = T.float32(0)\n")


def test_strings_are_not_formats() -> None:
    with pytest.raises(TvmsError, match=r"E0206.*'%' does not apply to '%9999999d' and 5"):
        parse(f'{HEAD}    t = "%9999999d" % 5\n    A[0] = T.float32(0)\n')


def test_macros_see_the_names_of_their_place_only() -> None:
    text = f"T.macro put(i):\n    A[i] = x\n\n{HEAD}    x = A[3]\n    put(1)\n"
    with pytest.raises(TvmsError, match="E0101"):
        parse(text)


def test_names_are_restored_when_a_frame_ends() -> None:
    from tvms.dsl.builder.context import Scope

    scope = Scope({"a": 1})
    with scope.frame():
        scope.define("a", 2)
        scope.define("a", 3)
        scope.define("b", 4)
        outer = scope.outer(0)
        assert (outer.get("a"), outer.get("b"), "b" in outer, "a" in outer) == (1, None, False, True)
        assert set(outer.names()) == {"a"}
        with outer.frame():
            outer.define("a", 9)
            outer.define("c", 8)
            inner = outer.outer(1)
            with outer.frame():
                outer.define("a", 10)
                assert (inner.get("a"), inner.get("c"), inner.depth) == (9, 8, 1)
            assert (outer.get("a"), scope.get("a")) == (9, 3)
        assert (outer.get("a"), outer.get("c")) == (1, None)
    assert (scope.get("a"), scope.get("b")) == (1, None)


def test_functions_cost_the_same_beside_many_names() -> None:
    from tvms.dsl.testing.growth import check_growth

    function = 'R.function f{k}(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):\n    return x\n'
    check_growth(lambda size: parse("".join(f"c{k} = {k}\n{function.format(k=k)}" for k in range(size))), 12)


NESTS = {
    "T.abs of an integer": ("T.Cast('int32', T.abs(", "))", "int32"),
    "T.isinf": ("T.Cast('float32', T.isinf(", "))", "float32"),
    "T.isfinite": ("T.Cast('float32', T.isfinite(", "))", "float32"),
    "T.ceildiv": ("T.ceildiv(T.int32(7), ", ")", "int32"),
}
"""Nested operators whose results contain an operand more than once."""


@pytest.mark.parametrize("name", NESTS)
def test_nested_operators_that_repeat_an_operand_are_refused(name: str) -> None:
    opened, closed, dtype = NESTS[name]
    text = f"{HEAD.replace('float32', dtype)}    A[0] = {opened * 60}A[1] + A[2]{closed * 60}\n"
    with pytest.raises(TvmsError) as caught:
        parse(text)
    (diagnostic,) = caught.value.diagnostics
    assert (diagnostic.code, diagnostic.message, diagnostic.help) == (
        "E0010",
        f"{name} duplicates its operand, which is too large",
        f"bind the operand to a variable first, as in x: T.{dtype} = …",
    )


def test_operators_that_repeat_an_operand_are_known() -> None:
    def count(node: Node, wanted: Node) -> int:
        return 1 if node is wanted else sum(count(child, wanted) for child in children(node))

    found: set[str] = set()
    dtypes = ("float32", "float16", "int32", "uint8", "int32x4", "bool")
    for (name, operator), dtype, number in product(OPERATORS.items(), dtypes, (1, 2, 3)):
        operands = [tir.Call(dtype, Op("tir.likely"), (tir.Var(dtype, f"x{k}"),)) for k in range(number)]
        with suppress(TvmsError, TypeError, AttributeError, ValueError):
            result = operator(*operands)
            if any(count(result, operand) > 1 for operand in operands):
                found.add(name)
    assert found == {"abs", "fabs", "isinf", "isfinite", "ceildiv"}
