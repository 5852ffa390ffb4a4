"""Visitors and rewriters of graph-level programs, with a method for each kind of expression (TVM: `relax/expr_functor.py`).

class ReluToGelu(PyExprMutator):
    def visit_call_(self, op):
        op = super().visit_call_(op)
        return relax.op.nn.gelu(op.args[0]) if op.op.name == "relax.nn.relu" else op

function = ReluToGelu().visit_expr(function)
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from ... import relax
from .expr_dispatch import ExprFunctor
from .expr_mutator import PyExprMutator as PyExprMutator

_Class = TypeVar("_Class", bound="type[ExprFunctor]")


def visitor(cls: _Class) -> _Class:
    """Return `cls`, a subclass of `PyExprVisitor` (TVM's decorator); subclasses inherit from it or from its `_cls`."""
    cls._cls = cls  # type: ignore[reportPrivateUsage]
    return cls


def mutator(cls: _Class) -> _Class:
    """Return `cls`, a subclass of `PyExprMutator` (TVM's decorator); subclasses inherit from it or from its `_cls`."""
    cls._cls = cls  # type: ignore[reportPrivateUsage]
    return cls


class PyExprVisitor(ExprFunctor):
    """Visits all parts of an expression, in the order of execution."""

    def visit_binding(self, binding: relax.Binding) -> None:
        """Visit a binding by the method for its kind."""
        (self.visit_match_cast_ if isinstance(binding, relax.MatchCast) else self.visit_var_binding_)(binding)

    def visit_var_binding_(self, binding: relax.Binding) -> None:
        """Visit the value of a binding, then its variable."""
        self.visit_expr(binding.value)
        self.visit_var_def(binding.var)

    visit_match_cast_ = visit_var_binding_

    def visit_binding_block(self, block: relax.BindingBlock) -> None:
        """Visit a block by the method for its kind."""
        is_dataflow = isinstance(block, relax.DataflowBlock)
        (self.visit_dataflow_block_ if is_dataflow else self.visit_binding_block_)(block)

    def visit_binding_block_(self, block: relax.BindingBlock) -> None:
        """Visit the bindings of a block."""
        for binding in block.bindings:
            self.visit_binding(binding)

    visit_dataflow_block_ = visit_binding_block_

    def visit_var_def(self, var: relax.Var) -> None:
        """Visit the definition of a variable by the method for its kind."""
        is_local = isinstance(var, relax.DataflowVar)
        (self.visit_dataflow_var_def_ if is_local else self.visit_var_def_)(var)

    def visit_function_(self, op: relax.Function) -> None:
        """Visit the parameters and the body of a function."""
        for param in op.params:
            self.visit_var_def(param)
        self.visit_expr(op.body)

    def visit_seq_expr_(self, op: relax.SeqExpr) -> None:
        """Visit the blocks of a body, then its result."""
        for block in op.blocks:
            self.visit_binding_block(block)
        self.visit_expr(op.body)

    def visit_call_(self, op: relax.Call) -> None:
        """Visit the callee and the arguments."""
        self._visit_all((op.op, *op.args))

    def visit_tuple_(self, op: relax.Tuple) -> None:
        """Visit the fields of a tuple."""
        self._visit_all(op.fields)

    def visit_tuple_getitem_(self, op: relax.TupleGetItem) -> None:
        """Visit the tuple of a field access."""
        self.visit_expr(op.tuple_value)

    def visit_if_(self, op: relax.If) -> None:
        """Visit the condition and both branches."""
        self._visit_all((op.cond, op.true_branch, op.false_branch))

    def _visit_all(self, exprs: Iterable[Any]) -> None:
        for expr in exprs:
            self.visit_expr(expr)

    def _visit_leaf(self, op: Any) -> None:
        """Visit a leaf."""

    visit_var_def_ = visit_dataflow_var_def_ = visit_var_ = visit_dataflow_var_ = visit_constant_ = _visit_leaf
    visit_shape_expr_ = visit_prim_value_ = visit_string_imm_ = visit_data_type_imm_ = _visit_leaf
    visit_extern_func_ = visit_global_var_ = visit_op_ = _visit_leaf
