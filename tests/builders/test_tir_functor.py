"""Visitors and mutators of statements and expressions in Python programs."""

from __future__ import annotations

from typing import Any

import pytest
import tvms
from tvms import te, tir

TEXT = """
T.prim_func f(A: T.Buffer((8,), "float32"), n: T.int32):
    for i in range(n):
        with T.block("B"):
            v = T.axis.spatial(n, i)
            T.where(i < 4)
            A[v] = A[v] * 2.0 + T.exp(A[0])
    x = n + 1
    if x < 3:
        T.evaluate(x)
"""


@tir.functor.visitor
class Names(tir.PyStmtExprVisitor):
    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []
        self.blocks = 0

    def visit_var_(self, op: tir.Var) -> None:
        self.names.append(op.name)

    def visit_block_(self, op: tir.Block) -> None:
        self.blocks += 1
        super().visit_block_(op)


def test_visitors_see_uses_in_order() -> None:
    func = tvms.parse(TEXT)["f"]
    names = Names()
    names.visit_stmt(func.body)
    assert names.blocks == 2
    assert names.names[:3] == ["n", "i", "i"]
    assert "v" in names.names
    assert names.names[-3:] == ["n", "x", "x"]


def test_mutators_rewrite_what_they_name() -> None:
    @tir.functor.mutator
    class Halves(tir.PyStmtExprMutator):
        def visit_mul_(self, op: tir.Mul) -> tir.PrimExpr:
            inner: Any = super().visit_mul_(op)
            return tir.Div(inner.a, inner.b)

        def visit_if_then_else_(self, op: tir.IfThenElse) -> tir.Stmt:
            return tir.SeqStmt([self.visit_stmt(op.then_case)] * 2)

    func = tvms.parse(TEXT)["f"]
    body = Halves().visit_stmt(func.body)
    wanted = TEXT.replace("* 2.0", "/ 2.0").replace(
        "    if x < 3:\n        T.evaluate(x)", "    T.evaluate(x)\n    T.evaluate(x)"
    )
    tvms.ir.assert_structural_equal(
        tir.PrimFunc(func.params, body, None, func.buffer_map), tvms.parse(wanted)["f"].without_attr("global_symbol")
    )


def test_a_mutator_without_methods_keeps_the_program() -> None:
    func = tvms.parse(TEXT)["f"]
    assert tir.PyStmtExprMutator().visit_stmt(func.body) is func.body
    expr = te.var("x") + 1
    assert tir.PyStmtExprMutator().visit_expr(expr) is expr


def test_sequences_stay_flat() -> None:
    class Twice(tir.PyStmtExprMutator):
        def visit_evaluate_(self, op: tir.Evaluate) -> tir.Stmt:
            return tir.SeqStmt([op, op])

    body = Twice().visit_stmt(tir.SeqStmt([tir.Evaluate(1), tir.Evaluate(2)]))
    assert [stmt.value.value for stmt in body.seq] == [1, 1, 2, 2]


@pytest.mark.parametrize("kind", ["floor_div", "eq", "int_imm", "seq_stmt", "allocate_const", "size_var"])
def test_methods_have_names(kind: str) -> None:
    for owner in (tir.PyStmtExprVisitor, tir.PyStmtExprMutator):
        assert getattr(owner, f"visit_{kind}_").__name__ == f"visit_{kind}_"
