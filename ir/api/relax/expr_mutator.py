"""Rewriter of graph-level programs, with a method for each kind of expression (TVM: `PyExprMutator`)."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from ... import relax
from ...base import IRModule, StructInfo
from ...building.block_builder import BlockBuilder
from ...building.nested_bodies import unnested
from ...building.values import graph_value
from ...infer import infer_struct_info, join
from ...spelling import newer_names
from ...visit import walk
from .expr_dispatch import METHODS, ExprFunctor


class PyExprMutator(ExprFunctor):
    """Rewrites functions: the methods for expressions return their replacements, in normal form.

    Methods for bindings emit the replacement through `builder_`, and those for blocks return it. What else is emitted
    through `builder_` comes before the binding that is being visited. Methods for definitions return the new variable.
    """

    def __init__(self, mod: IRModule | None = None) -> None:
        self.builder_ = BlockBuilder(mod)
        self._remap: dict[relax.Var, relax.Var] = {}

    def visit_expr(self, expr: Any) -> Any:
        """Return the result of the method for the kind of `expr`; parts that may not be operands are bound to variables."""
        new = super().visit_expr(expr)
        return new if new is expr else self.builder_.normalize(new)

    def visit_expr_post_order(self, expr: Any) -> Any:
        """Return `expr` with its parts rewritten, ignoring overridden methods for its own kind."""
        return getattr(PyExprMutator, METHODS[type(expr)])(self, expr)

    # --- Functions and blocks ---------------------------------------------------------------------------------

    def visit_function_(self, op: relax.Function) -> relax.Function:
        """Return a function with its parameters and its body rewritten.

        It declares the same result, unless the new body returns something else.
        """
        self.builder_.reserve(node.name_hint for node in walk(op) if isinstance(node, relax.Var))
        params = tuple([self._defined(param) for param in op.params])
        body = self.visit_expr(op.body)
        if body is op.body and _same(params, op.params):
            return op
        info = infer_struct_info(body)
        declared = op.ret_struct_info
        returned = declared if declared is not None and join(declared, info) == declared else info
        return replace(op, params=params, body=body, ret_struct_info=returned, struct_info=None)

    def visit_seq_expr_(self, op: relax.SeqExpr) -> relax.SeqExpr:
        """Return a body with its blocks and its result rewritten; empty blocks are removed."""
        blocks = [self.visit_binding_block(block) for block in op.blocks]
        self.builder_.begin_block(is_dataflow=False)
        body = self.builder_.normalize_argument(self.visit_expr(op.body))
        blocks.append(self.builder_.end_block())
        kept = unnested([block for block in blocks if block.bindings])
        return op if body is op.body and _same(kept, op.blocks) else relax.SeqExpr(kept, body, span=op.span)

    def visit_binding_block(self, block: relax.BindingBlock) -> relax.BindingBlock:
        """Return the result of the method for the kind of a block."""
        is_dataflow = isinstance(block, relax.DataflowBlock)
        return (self.visit_dataflow_block_ if is_dataflow else self.visit_binding_block_)(block)

    def visit_binding_block_(self, block: relax.BindingBlock) -> relax.BindingBlock:
        """Return a block with its bindings rewritten."""
        self.builder_.begin_block(isinstance(block, relax.DataflowBlock))
        for binding in block.bindings:
            self.visit_binding(binding)
        new = self.builder_.end_block()
        return block if _same(new.bindings, block.bindings) else replace(new, trivia=block.trivia)

    visit_dataflow_block_ = visit_binding_block_

    # --- Bindings and variables -------------------------------------------------------------------------------

    def visit_binding(self, binding: relax.Binding) -> None:
        """Visit a binding by the method for its kind, which emits its replacement."""
        (self.visit_match_cast_ if isinstance(binding, relax.MatchCast) else self.visit_var_binding_)(binding)

    def visit_var_binding_(self, binding: relax.Binding) -> None:
        """Emit a binding with its value and its variable rewritten; the variable gets the struct info of another value."""
        value = self.visit_expr(binding.value)
        if isinstance(value, relax.Call):
            value = self.builder_.normalize(value)
        var = self.visit_var_def(binding.var)
        if value is not binding.value:
            var = self.with_struct_info(var, infer_struct_info(value))
        self._emit_again(binding, var, value)

    def visit_match_cast_(self, binding: relax.Binding) -> None:
        """Emit a binding by `R.match_cast` with its value and its variable rewritten."""
        value = self.builder_.normalize_argument(self.visit_expr(binding.value))
        self._emit_again(binding, self.visit_var_def(binding.var), value)

    def _emit_again(self, binding: relax.Binding, var: relax.Var, value: relax.Expr) -> None:
        is_same = var is binding.var and value is binding.value
        if var is not binding.var:
            self._remap[binding.var] = var
        self.builder_.emit_normalized(binding if is_same else replace(binding, var=var, value=value))

    def visit_var_def(self, var: relax.Var) -> relax.Var:
        """Return the result of the method for the kind of the variable that is defined."""
        is_local = isinstance(var, relax.DataflowVar)
        return (self.visit_dataflow_var_def_ if is_local else self.visit_var_def_)(var)

    def visit_var_def_(self, var: relax.Var) -> relax.Var:
        """Return a variable with the shapes in its struct info rewritten."""
        return var if var.struct_info is None else self.with_struct_info(var, self._visited_info(var.struct_info))

    visit_dataflow_var_def_ = visit_var_def_

    def _defined(self, param: relax.Var) -> relax.Var:
        new = self.visit_var_def(param)
        if new is not param:
            self._remap[param] = new
        return new

    # --- Expressions ------------------------------------------------------------------------------------------

    def visit_call_(self, op: relax.Call) -> relax.Expr:
        """Return a call with its callee, its arguments and the struct info that it states rewritten."""
        callee, args = self.visit_expr(op.op), self._all(op.args)
        infos = tuple([self._visited_info(info) for info in op.sinfo_args])
        if callee is op.op and args is op.args and _same(infos, op.sinfo_args) and self._keeps_info(op):
            return op
        return replace(op, op=callee, args=args, sinfo_args=infos, struct_info=None)

    def visit_tuple_(self, op: relax.Tuple) -> relax.Expr:
        """Return a tuple with its fields rewritten."""
        fields = self._all(op.fields)
        return op if fields is op.fields else replace(op, fields=fields, struct_info=None)

    def visit_tuple_getitem_(self, op: relax.TupleGetItem) -> relax.Expr:
        """Return a field of the rewritten tuple."""
        value = self.visit_expr(op.tuple_value)
        return op if value is op.tuple_value else replace(op, tuple_value=value, struct_info=None)

    def visit_if_(self, op: relax.If) -> relax.Expr:
        """Return an `if` with its condition and its branches rewritten."""
        parts = op.cond, op.true_branch, op.false_branch
        cond, yes, no = new = [self.visit_expr(part) for part in parts]
        return (
            op
            if _same(tuple(new), parts)
            else replace(op, cond=cond, true_branch=yes, false_branch=no, struct_info=None)
        )

    def visit_var_(self, op: relax.Var) -> relax.Expr:
        """Return the replacement of a variable."""
        return self._remap.get(op, op)

    visit_dataflow_var_ = visit_var_

    def _leaf(self, op: Any) -> Any:
        """Return a leaf unchanged."""
        return op

    visit_constant_ = visit_shape_expr_ = visit_prim_value_ = visit_string_imm_ = visit_data_type_imm_ = _leaf
    visit_extern_func_ = visit_global_var_ = visit_op_ = _leaf

    def _all(self, exprs: tuple[relax.Expr, ...]) -> tuple[relax.Expr, ...]:
        new = tuple([graph_value(self.visit_expr(expr)) for expr in exprs])
        return exprs if _same(new, exprs) else new

    def _keeps_info(self, expr: relax.Expr) -> bool:
        return expr.struct_info is None or self._visited_info(expr.struct_info) is expr.struct_info

    def _visited_info(self, info: StructInfo) -> StructInfo:
        """Return struct info with the shapes of its tensors rewritten."""
        match info:
            case relax.TensorStructInfo(shape=relax.Expr() as shape):
                new = self.visit_expr(shape)
                return info if new is shape else replace(info, shape=new)
            case relax.TupleStructInfo(fields=fields):
                items = tuple([self._visited_info(field) for field in fields])
                return info if _same(items, fields) else replace(info, fields=items)
            case _:
                return info

    # --- Replacements of variables ----------------------------------------------------------------------------

    @newer_names(old_var="vid", new_var="var")
    def set_var_remap(self, vid: relax.Var, var: relax.Var) -> None:
        """Replace later uses of the variable `vid` with `var`."""
        self._remap[vid] = var

    @newer_names(var="vid")
    def get_var_remap(self, vid: relax.Var) -> relax.Var:
        """Return the replacement of the variable `vid`."""
        return self._remap.get(vid, vid)

    def lookup_binding(self, var: relax.Var) -> relax.Expr | None:
        """Return the value of `var` in the new program so far; None for a parameter."""
        return self.builder_.lookup_binding(var)

    def with_struct_info(self, var: relax.Var, struct_info: StructInfo) -> relax.Var:
        """Return `var`, or a variable like it with `struct_info` if that differs."""
        return var if var.struct_info == struct_info else replace(var, struct_info=struct_info)

    def with_type(self, var: relax.Var, ty: StructInfo) -> relax.Var:
        """Return `with_struct_info(var, ty)`, which has this name in TVM 0.27."""
        return self.with_struct_info(var, ty)


def _same(new: tuple[Any, ...], old: tuple[Any, ...]) -> bool:
    return len(new) == len(old) and all(a is b for a, b in zip(new, old, strict=True))
