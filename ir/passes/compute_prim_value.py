"""Compute numbers that depend on symbolic sizes in separate functions (TVM: `ComputePrimValue`).

    gv = R.prim_value(n * 2)        gv = Module.compute_symbolic_expr(R.prim_value(n))

All executors can call functions; only tvms evaluates expressions inside of values.
"""

from __future__ import annotations

from msgspec.structs import replace

from .. import relax, tir
from ..base import GlobalVar, IRModule, Op
from ..deep import deep
from ..function_table import FunctionTable, numbered
from ..variables import free_variables
from ..visit import rewrite, substitute
from .rewriter import ValueRewriter
from .transform import declare_pass


@declare_pass("ComputePrimValue")
@deep
def compute_prim_value(mod: IRModule) -> IRModule:
    """Replace each `R.prim_value` that is not a constant or a variable by a call of a function that computes it."""
    table = FunctionTable(mod.functions)
    for name, function in mod.functions.items():
        if isinstance(function, relax.Function):
            table.functions[name] = _Computer(function, table).function(function)
    changed = any(table.functions[name] is not function for name, function in mod.functions.items())
    return replace(mod, functions=table.functions) if changed else mod


class _Computer(ValueRewriter):
    def __init__(self, function: relax.Function, table: FunctionTable) -> None:
        super().__init__(function)
        self._table = table

    def use(self, expr: relax.Expr) -> relax.Expr:
        """Return an expression with computed numbers replaced by calls."""
        return rewrite(super().use(expr), self._computed)

    def _computed(self, node: object) -> relax.Expr | None:
        if not isinstance(node, relax.PrimValue) or isinstance(node.value, tir.IntImm | tir.FloatImm | tir.Var):
            return None
        variables = [var for var in free_variables(node.value) if isinstance(var, tir.Var)]
        own = {var: replace(var) for var in variables}
        value = substitute(node.value, own)
        body = tir.Evaluate(tir.Call(value.dtype, Op("tir.ret"), (value,)))
        function = tir.PrimFunc(tuple(own.values()), body, tir.PrimType(value.dtype), attrs={"tir.is_host_func": True})
        name = self._table.add(function, numbered("compute_symbolic_expr"))
        args = tuple([relax.PrimValue(var, struct_info=relax.PrimStructInfo(var.dtype, var)) for var in variables])
        return relax.Call(GlobalVar(name), args, {}, struct_info=relax.PrimStructInfo(value.dtype))
