"""The printer prints broken programs, and the verifier reports them: neither ends in an exception."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tvms.ir import make, relax, tir
from tvms.ir.base import IRModule, Node, Op
from tvms.ir.verify import verify
from tvms.ir.visit import substitute, walk
from tvms.testing import modules

DIALECTS = ("tvms", "tvm-0.21", "tvm-0.27")
X = tir.Var("int32", "x")


def block(axes: int, values: tuple[tir.PrimExpr, ...]) -> tir.BlockRealize:
    names = [tir.Var("int32", f"v{number}") for number in range(axes)]
    domain = tir.Range(make.const(0), make.const(4))
    iterators = tuple(tir.IterVar(domain, name, tir.IterVarType.DATA_PAR) for name in names)
    return tir.BlockRealize(values, make.const(True), tir.Block(iterators, (), (), "b", tir.Evaluate(make.const(0))))


@pytest.mark.parametrize(
    ("axes", "values", "lines"),
    [
        (1, (), ["v0 = T.axis.spatial(4)"]),
        (2, (X,), ["v0 = T.axis.spatial(4, x)", "v1 = T.axis.spatial(4)"]),
        (0, (X,), ["# bound to no axis: x"]),
        (1, (X, X + 1, X), ["v0 = T.axis.spatial(4, x)", "# bound to no axis: x + 1", "# bound to no axis: x"]),
    ],
)
def test_a_block_with_another_number_of_values_than_axes(axes: int, values: Any, lines: list[str]) -> None:
    text = str(block(axes, values)).splitlines()
    start = next(at for at, line in enumerate(text) if line.startswith("with T.block"))
    assert [line.strip() for line in text[start + 1 : start + 1 + len(lines)]] == lines
    assert text[start + 1 + len(lines)].strip() == "T.reads()"


def test_an_operator_with_another_number_of_operands_is_printed_as_a_call() -> None:
    assert (
        str(tir.Call("int32", Op("tir.shift_left"), (X,))).splitlines()[-1]
        == 'T.call_intrin("int32", "tir.shift_left", x)'
    )


def test_struct_info_with_another_rank_than_sizes_is_reported() -> None:
    info = relax.TensorStructInfo(relax.ShapeExpr((make.const(4, "int64"),)), "float32", 2)
    x, y = relax.Var("x", struct_info=info), relax.Var("y", struct_info=info)
    call = relax.Call(Op("relax.nn.relu"), (x,))
    body = relax.SeqExpr((relax.BindingBlock((relax.VarBinding(y, call),)),), y, struct_info=info)
    found = verify(relax.Function((x,), body, info))
    assert [diagnostic.message for diagnostic in found] == ["R.nn.relu gets 'x' with 1 size, but of rank 2"]


def damages(module: IRModule) -> Iterator[tuple[Node, str, Any]]:
    """Yield each tuple in a field of a node, with items removed or repeated."""
    for node in dict.fromkeys(node for function in module.functions.values() for node in walk(function)):
        for name in node.__struct_fields__:
            items = getattr(node, name)
            if isinstance(items, tuple) and items:
                yield from ((node, name, other) for other in ((), items[1:], items[:-1], items + items[:1]))


@given(modules(), st.randoms(use_true_random=False))
def test_damaged_programs_are_printed_and_verified(module: IRModule, random: Any) -> None:
    every = list(damages(module))
    for node, name, items in random.sample(every, min(len(every), 8)):
        broken = substitute(module, {node: replace(node, **{name: items})})
        assert all(isinstance(broken.script(dialect), str) for dialect in DIALECTS)
        assert isinstance(verify(broken, "races"), tuple)
