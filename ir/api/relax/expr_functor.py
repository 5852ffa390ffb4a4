"""Visitors and rewriters of graph-level programs, with a method for each kind of expression (TVM: `relax/expr_functor.py`).

class ReluToGelu(PyExprMutator):
    def visit_call_(self, op):
        op = super().visit_call_(op)
        return relax.op.nn.gelu(op.args[0]) if op.op.name == "relax.nn.relu" else op

function = ReluToGelu().visit_expr(function)
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, TypeVar

from msgspec.structs import replace

from ... import relax
from ...base import GlobalVar, IRModule, Op, StructInfo
from ...building.block_builder import BlockBuilder
from ...building.values import graph_value
from ...passes.rewriter import ValueRewriter

_Class = TypeVar("_Class", bound="type[ExprFunctor]")

_METHODS: dict[type, str] = {
    relax.Call: "visit_call_",
    relax.DataflowVar: "visit_dataflow_var_",
    relax.Var: "visit_var_",
    relax.Constant: "visit_constant_",
    relax.Tuple: "visit_tuple_",
    relax.TupleGetItem: "visit_tuple_getitem_",
    relax.ShapeExpr: "visit_shape_expr_",
    relax.PrimValue: "visit_prim_value_",
    relax.StringImm: "visit_string_imm_",
    relax.DataTypeImm: "visit_data_type_imm_",
    relax.ExternFunc: "visit_extern_func_",
    GlobalVar: "visit_global_var_",
    Op: "visit_op_",
    relax.Function: "visit_function_",
    relax.SeqExpr: "visit_seq_expr_",
    relax.If: "visit_if_",
}


def visitor(cls: _Class) -> _Class:
    """Return `cls`, a subclass of `PyExprVisitor` (TVM's decorator); subclasses inherit from it or from its `_cls`."""
    cls._cls = cls  # type: ignore[reportPrivateUsage]
    return cls


def mutator(cls: _Class) -> _Class:
    """Return `cls`, a subclass of `PyExprMutator` (TVM's decorator); subclasses inherit from it or from its `_cls`."""
    cls._cls = cls  # type: ignore[reportPrivateUsage]
    return cls


class ExprFunctor:
    """Dispatches on the kind of an expression: `visit_call_`, `visit_var_`, … (`_METHODS` lists them)."""

    _cls: ClassVar[type[ExprFunctor]]
    """The class itself, from which subclasses of a decorated class inherit in TVM."""

    def visit_expr(self, expr: Any) -> Any:
        """Return the result of the method for the kind of `expr`."""
        return getattr(self, _METHODS[type(expr)])(expr)


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


class PyExprMutator(ExprFunctor):
    """Rewrites functions binding by binding: the methods for expressions return their replacements.

    Bindings emitted through `builder_` are inserted before the binding that is being visited. The branches of an `if`, and
    nested functions, are already rewritten when `visit_if_` and `visit_function_` are called.
    """

    def __init__(self, mod: IRModule | None = None) -> None:
        self._rewriter: _MutatorDriver | None = None
        self.builder_ = _Builder(self, mod)

    def visit_expr_post_order(self, expr: Any) -> Any:
        """Return `expr` with its parts rewritten, ignoring overridden methods for its own kind."""
        return getattr(PyExprMutator, _METHODS[type(expr)])(self, expr)

    def visit_function_(self, op: relax.Function) -> relax.Function:
        """Return a function with its body rewritten."""
        outer, self._rewriter = self._rewriter, _MutatorDriver(self, op)
        try:
            return self._rewriter.function(op)
        finally:
            self._rewriter = outer

    def visit_binding(self, binding: relax.Binding) -> None:
        """Visit a binding by the method for its kind, which emits its replacement."""
        (self.visit_match_cast_ if isinstance(binding, relax.MatchCast) else self.visit_var_binding_)(binding)

    def visit_var_binding_(self, binding: relax.Binding) -> None:
        """Emit a binding with its value rewritten."""
        self._active.again(binding, self.visit_expr(binding.value))

    visit_match_cast_ = visit_var_binding_

    def visit_call_(self, op: relax.Call) -> relax.Expr:
        """Return a call with its callee and arguments rewritten."""
        callee, args = self.visit_expr(op.op), self._all(op.args)
        return op if callee is op.op and args is op.args else replace(op, op=callee, args=args, struct_info=None)

    def visit_tuple_(self, op: relax.Tuple) -> relax.Expr:
        """Return a tuple with its fields rewritten."""
        fields = self._all(op.fields)
        return op if fields is op.fields else replace(op, fields=fields, struct_info=None)

    def visit_tuple_getitem_(self, op: relax.TupleGetItem) -> relax.Expr:
        """Return a field of the rewritten tuple."""
        value = self.visit_expr(op.tuple_value)
        return op if value is op.tuple_value else replace(op, tuple_value=value, struct_info=None)

    def visit_var_(self, op: relax.Var) -> relax.Expr:
        """Return the replacement of a variable."""
        return op if self._rewriter is None else self._rewriter.use(op)

    visit_dataflow_var_ = visit_var_

    def _same(self, op: Any) -> Any:
        """Return a leaf unchanged."""
        return op

    visit_constant_ = visit_shape_expr_ = visit_prim_value_ = visit_string_imm_ = visit_data_type_imm_ = _same
    visit_extern_func_ = visit_global_var_ = visit_op_ = visit_if_ = visit_seq_expr_ = _same

    def set_var_remap(self, vid: relax.Var, var: relax.Var) -> None:
        """Replace later uses of the variable `vid` with `var`."""
        self._active.replaced[vid] = var

    def get_var_remap(self, vid: relax.Var) -> relax.Var:
        """Return the replacement of the variable `vid`."""
        return self._active.use(vid)

    def lookup_binding(self, var: relax.Var) -> relax.Expr | None:
        """Return the value of `var` in the new program so far; None for a parameter."""
        return self._active.bound.get(var)

    def with_struct_info(self, var: relax.Var, struct_info: StructInfo) -> relax.Var:
        """Return a variable like `var` with `struct_info`."""
        return replace(var, struct_info=struct_info)

    @property
    def _active(self) -> _MutatorDriver:
        if self._rewriter is None:
            raise RuntimeError("no function is being rewritten: give one to visit_expr")
        return self._rewriter

    def _all(self, exprs: tuple[relax.Expr, ...]) -> tuple[relax.Expr, ...]:
        new = tuple(graph_value(self.visit_expr(expr)) for expr in exprs)
        return exprs if all(a is b for a, b in zip(new, exprs, strict=True)) else new


class _MutatorDriver(ValueRewriter):
    """Rewrites a function by calling a mutator for each binding."""

    def __init__(self, mutator: PyExprMutator, function: relax.Function) -> None:
        super().__init__(function)
        self._mutator = mutator
        self.bound: dict[relax.Var, relax.Expr] = {}

    def binding(self, binding: relax.Binding) -> Iterable[relax.Binding]:
        """Return the bindings that the mutator emits for a binding."""
        with self.collecting(self.in_dataflow) as new:
            self._mutator.visit_binding(binding)
        self.bound |= {item.var: item.value for item in new}
        return new

    def again(self, binding: relax.Binding, value: Any) -> None:
        """Emit `binding` with another value."""
        new = self.flat(graph_value(value))
        self.append(binding if new is binding.value else self.rebound(binding, new))


class _Builder(BlockBuilder):
    """A builder that emits before the visited binding while a function is rewritten."""

    def __init__(self, mutator: PyExprMutator, mod: IRModule | None) -> None:
        super().__init__(mod)
        self._mutator = mutator

    @property
    def _rewriter(self) -> _MutatorDriver | None:
        return None if self._scopes else self._mutator._rewriter  # type: ignore[reportPrivateUsage]

    def emit(self, expr: Any, name_hint: str = "") -> relax.Var:
        """Bind `expr` to a new variable and return it."""
        rewriter = self._rewriter
        return super().emit(expr, name_hint) if rewriter is None else rewriter.emit(graph_value(expr), name_hint)

    def emit_normalized(self, binding: relax.Binding) -> None:
        """Add a binding whose value is already normalized."""
        rewriter = self._rewriter
        super().emit_normalized(binding) if rewriter is None else rewriter.append(binding)

    def normalize(self, expr: Any) -> relax.Expr:
        """Return `expr` with nested calls bound to variables."""
        rewriter = self._rewriter
        return super().normalize(expr) if rewriter is None else rewriter.flat(graph_value(expr))

    def current_block_is_dataflow(self) -> bool:
        """Return whether the rewritten block is a dataflow block."""
        rewriter = self._rewriter
        return super().current_block_is_dataflow() if rewriter is None else rewriter.in_dataflow
