"""The default strategies refute wrong passes: an unsafe loop interchange, and wrong broadcasting."""

from __future__ import annotations

import pytest
import tvms
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tvms.ir import relax, tir
from tvms.ir.base import Op
from tvms.ir.visit import rewrite
from tvms.testing import assert_equivalent, graph_functions, prim_funcs

SETTINGS = settings(max_examples=300, derandomize=True, deadline=None, database=None, phases=[Phase.generate])


def interchanged(func: tvms.PrimFunc) -> tvms.PrimFunc:
    """Swap every two perfectly nested loops, ignoring their dependences."""

    def visit(node: object) -> tir.For | None:
        if isinstance(node, tir.For) and isinstance(node.body, tir.For):
            inner = node.body
            if isinstance(inner.extent, tir.IntImm) and node.kind is inner.kind is tir.ForKind.SERIAL:
                return replace(inner, body=replace(node, body=inner.body))
        return None

    return rewrite(func, visit)


def commuted(function: relax.Function) -> relax.Function:
    """Replace a - b by b - a if the shapes differ, as if broadcasting swapped the operands."""

    def visit(node: object) -> relax.Call | None:
        if isinstance(node, relax.Call) and node.op == Op("relax.subtract"):
            a, b = node.args
            if getattr(a.struct_info, "ndim", 0) != getattr(b.struct_info, "ndim", 0):
                return replace(node, args=(b, a))
        return None

    return rewrite(function, visit)


def test_an_unsafe_interchange_is_refuted() -> None:
    @given(prim_funcs(), st.integers(0, 99))
    @SETTINGS
    def check(func: tvms.PrimFunc, seed: int) -> None:
        assert_equivalent(func, interchanged(func), seed=seed, profiles=["plain"], integers=(-8, 9))

    with pytest.raises(AssertionError):
        check()


def test_a_wrong_rewrite_of_broadcasting_is_refuted() -> None:
    @given(graph_functions(), st.integers(0, 99))
    @SETTINGS
    def check(function: tvms.Function, seed: int) -> None:
        assert_equivalent(function, commuted(function), seed=seed, profiles=["plain"])

    with pytest.raises(AssertionError):
        check()
