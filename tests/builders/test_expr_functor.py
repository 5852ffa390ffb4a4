"""Visitors and rewriters of users (`relax.expr_functor`), and questions about programs (`relax.analysis`)."""

from __future__ import annotations

from typing import Any

import pytest
import tvms
from tvms import relax
from tvms.relax import PyExprMutator, PyExprVisitor
from tvms.relax.analysis import (
    all_global_vars,
    all_vars,
    bound_vars,
    contains_impure_call,
    defined_symbolic_vars,
    free_symbolic_vars,
    free_vars,
    get_var2val,
    name_to_binding,
    post_order_visit,
    remove_all_unused,
    udchain,
    well_formed,
)
from tvms.relax.expr_functor import mutator, visitor

TEXT = """\
I.ir_module Module:
    R.function main(x: R.Tensor(("n", 4), "float32"), c: R.Tensor((), "bool")) -> R.Tensor(("n", 4), "float32"):
        with R.dataflow():
            lv = R.nn.relu(x)
            lv1 = R.add(lv, lv)
            unused = R.exp(x)
            gv = R.multiply(lv1, R.const(2.0, "float32"))
            R.output(gv)
        if c:
            y = R.nn.relu(gv)
        else:
            y = R.exp(gv)
        return y
"""
module = tvms.parse(TEXT)


def main_of(mod: tvms.IRModule) -> Any:
    return mod["main"]


def rewritten(mod: tvms.IRModule, rewriter: PyExprMutator) -> tvms.IRModule:
    for reference, function in mod.functions_items():
        rewriter.builder_.update_func(reference, rewriter.visit_expr(function))
    new = rewriter.builder_.get()
    assert well_formed(new)
    return new


@mutator
class ReluToGelu(PyExprMutator):
    def visit_call_(self, op: Any) -> Any:
        op = super().visit_call_(op)
        return relax.op.nn.gelu(op.args[0]) if op.op.name == "relax.nn.relu" else op


def test_calls_are_replaced_in_bindings_and_branches() -> None:
    new = rewritten(module, ReluToGelu(module))
    tvms.ir.assert_structural_equal(new, tvms.parse(TEXT.replace("nn.relu", "nn.gelu")))
    assert "nn.relu" in module.script()


def test_nothing_changes_where_nothing_is_replaced() -> None:
    function = main_of(module)
    assert PyExprMutator().visit_expr(function) is function


@mutator
class Halved(PyExprMutator):
    """Replaces `x + x` by what is emitted in two steps, and leaves out `unused`."""

    def visit_var_binding_(self, binding: Any) -> None:
        if binding.var.name_hint != "unused":
            super().visit_var_binding_(binding)

    def visit_call_(self, op: Any) -> Any:
        op = self.visit_expr_post_order(op)
        if op.op.name != "relax.add":
            return op
        assert self.builder_.current_block_is_dataflow()
        assert self.lookup_binding(op.args[0]).op.name == "relax.nn.relu"
        twice = self.builder_.emit(relax.op.multiply(op.args[0], relax.const(4.0)))
        return relax.op.divide(twice, relax.const(2.0))


def test_bindings_are_emitted_before_and_left_out() -> None:
    expected = TEXT.replace("            unused = R.exp(x)\n", "").replace(
        "lv1 = R.add(lv, lv)",
        'm = R.multiply(lv, R.const(4.0, "float32"))\n            lv1 = R.divide(m, R.const(2.0, "float32"))',
    )
    tvms.ir.assert_structural_equal(rewritten(module, Halved(module)), tvms.parse(expected))


@mutator
class Renamed(PyExprMutator):
    def visit_var_binding_(self, binding: Any) -> None:
        if binding.var.name_hint == "lv":
            var = self.builder_.emit(self.visit_expr(binding.value), "renamed")
            self.set_var_remap(binding.var, var)
            assert self.get_var_remap(binding.var) is var
        else:
            super().visit_var_binding_(binding)


def test_a_variable_takes_the_place_of_another() -> None:
    new = rewritten(module, Renamed(module))
    tvms.ir.assert_structural_equal(new, module)
    assert next(iter(name_to_binding(main_of(new)))) == "renamed"


def test_what_is_emitted_outside_of_a_function_is_an_error() -> None:
    with pytest.raises(RuntimeError, match="no function is being built"):
        PyExprMutator().builder_.emit(main_of(module).params[0])


class Narrowed(PyExprMutator):
    """Gives the parameter `x` the shape (2, 4)."""

    def visit_var_def_(self, var: Any) -> Any:
        if var.name_hint != "x":
            return super().visit_var_def_(var)
        return relax.Var("narrow", relax.TensorStructInfo((2, 4), "float32"))


def test_types_follow_from_those_of_new_parameters() -> None:
    new = Narrowed().visit_expr(main_of(module))
    narrow = relax.TensorStructInfo((2, 4), "float32")
    assert new.params[0].name_hint == "narrow"
    assert new.ret_struct_info == narrow
    assert {var.struct_info for var in bound_vars(new.body)} == {narrow}


class Sizes(PyExprMutator):
    """Replaces the constant size 4 by 8 in all shapes."""

    def visit_shape_expr_(self, op: Any) -> Any:
        sizes = [8 if isinstance(size, tvms.tir.IntImm) and size.value == 4 else size for size in op.values]
        return relax.ShapeExpr(sizes)


def test_shapes_in_types_are_visited() -> None:
    new = Sizes().visit_expr(main_of(module))
    tvms.ir.assert_structural_equal(new, main_of(tvms.parse(TEXT.replace(", 4)", ", 8)"))))


class Blocks(PyExprMutator):
    """Counts blocks and branches, and emits `R.tanh` of the first parameter at the begin of each dataflow block."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def visit_if_(self, op: Any) -> Any:
        self.seen.append("if")
        return super().visit_if_(op)

    def visit_binding_block_(self, block: Any) -> Any:
        self.seen.append("bindings")
        return super().visit_binding_block_(block)

    def visit_dataflow_block_(self, block: Any) -> Any:
        self.seen.append("dataflow")
        self.builder_.begin_block(is_dataflow=True)
        self.builder_.emit(relax.op.tanh(main_of(module).params[0]), "extra")
        for binding in block.bindings:
            self.visit_binding(binding)
        return self.builder_.end_block()


def test_blocks_and_branches_have_methods() -> None:
    rewriter = Blocks()
    new = rewriter.visit_expr(main_of(module))
    assert rewriter.seen == ["dataflow", "bindings", "if", "bindings", "bindings"]
    expected = TEXT.replace(
        "        with R.dataflow():\n", "        with R.dataflow():\n            extra = R.tanh(x)\n"
    )
    tvms.ir.assert_structural_equal(new, main_of(tvms.parse(expected)))


@visitor
class Calls(PyExprVisitor):
    def __init__(self) -> None:
        self.found: list[str] = []

    def visit_call_(self, op: Any) -> None:
        super().visit_call_(op)
        self.found.append(op.op.name.removeprefix("relax."))

    def visit_var_def_(self, var: Any) -> None:
        self.found.append(var.name_hint)


def test_all_is_visited_in_the_order_of_execution() -> None:
    calls = Calls()
    calls.visit_expr(main_of(module))
    names = ["x", "c", "nn.relu", "add", "exp", "multiply", "gv", "nn.relu", "exp", "y"]
    assert [name for name in calls.found if name not in ("y_then", "y_else")][: len(names)] == names


def test_a_dimension_in_a_computed_size_is_not_defined() -> None:
    m, n, k, p = (tvms.tir.Var(name, "int64") for name in "mnkp")
    x = relax.Var("x", relax.TensorStructInfo((m, m + n)))
    s = relax.Var("s", relax.ShapeStructInfo((k,)))
    y = relax.Var("y", relax.TensorStructInfo((m, p)))
    block = relax.BindingBlock([relax.MatchCast(y, x, y.struct_info)])
    function = relax.Function([x, s], relax.SeqExpr([block], y))
    assert [var.name for var in defined_symbolic_vars(function)] == ["m", "k", "p"]
    assert free_symbolic_vars(function) == [n]


def test_questions_about_a_function() -> None:
    function = main_of(module)
    block = function.body.blocks[0]
    assert {var.name_hint for var in all_vars(function)} >= {"x", "c", "lv", "lv1", "unused", "gv", "y"}
    assert [var.name_hint for var in bound_vars(block)] == ["lv", "lv1", "unused", "gv"]
    assert [var.name_hint for var in free_vars(block)] == ["x"]
    assert free_vars(function) == []
    assert [var.name for var in defined_symbolic_vars(function)] == ["n"]
    assert free_symbolic_vars(function) == []
    assert all_global_vars(function) == []
    lv, lv1 = bound_vars(block)[:2]
    assert get_var2val(function)[lv].op.name == "relax.nn.relu"
    assert udchain(block)[lv] == [lv1]
    assert "unused" not in name_to_binding(remove_all_unused(function))
    assert not contains_impure_call(function)
    seen: list[Any] = []
    post_order_visit(function, seen.append)
    assert seen[-1] is function
