"""The method of a visitor or rewriter for each kind of expression."""

from __future__ import annotations

from typing import Any, ClassVar

from ... import relax
from ...base import GlobalVar, Op

METHODS: dict[type, str] = {
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


class ExprFunctor:
    """Dispatches on the kind of an expression: `visit_call_`, `visit_var_`, … (`METHODS` lists them)."""

    _cls: ClassVar[type[ExprFunctor]]
    """The class itself, from which subclasses of a decorated class inherit in TVM."""

    def visit_expr(self, expr: Any) -> Any:
        """Return the result of the method for the kind of `expr`."""
        return getattr(self, METHODS[type(expr)])(expr)
