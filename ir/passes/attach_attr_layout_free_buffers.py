"""Mark arguments of loop functions whose layout may change (TVM: `AttachAttrLayoutFreeBuffers`).

    gv = R.call_tir(cls.matmul, (x, w), …)        T.func_attr({"layout_free_buffers": [1]}) in matmul

These are constants and weights: the parameters after the first `num_input`.
"""

from __future__ import annotations

from msgspec.structs import replace

from .. import relax, tir
from ..base import GlobalVar, IRModule, Op
from ..deep import deep
from ..function_table import FunctionTable, numbered
from ..variables import defined_variables
from ..visit import substitute, walk
from .bundle_model_params import input_count
from .dead_code import eliminate_dead_code
from .rewriter import ValueRewriter
from .transform import declare_pass

LAYOUT_FREE = "layout_free_buffers"
"""Attribute of a loop function with the indices of such arguments."""


@declare_pass("AttachAttrLayoutFreeBuffers")
@deep
def attach_attr_layout_free_buffers(mod: IRModule) -> IRModule:
    """Let every `R.call_tir` call a copy of its function that has the attribute `layout_free_buffers`."""
    table = FunctionTable(mod.functions)
    for name, function in mod.functions.items():
        if isinstance(function, relax.Function):
            table.functions[name] = _Attacher(function, table).function(function)
    changed = any(table.functions[name] is not function for name, function in mod.functions.items())
    return eliminate_dead_code(replace(mod, functions=table.functions)) if changed else mod


class _Attacher(ValueRewriter):
    def __init__(self, function: relax.Function, table: FunctionTable) -> None:
        super().__init__(function)
        count = input_count(function)
        self._table, self._weights = table, frozenset(() if count is None else function.params[count:])

    def value(self, binding: relax.Binding) -> relax.Expr:
        """Return a call of the function with the attribute."""
        match binding.value:
            case (
                relax.Call(
                    op=Op(name="relax.call_tir"), args=(GlobalVar(name_hint=name), relax.Tuple(fields=fields), *rest)
                ) as call
            ):
                function = self._table.functions[name]
                assert isinstance(function, tir.PrimFunc)
                free = tuple(
                    place
                    for place, field in enumerate(fields)
                    if isinstance(field, relax.Constant) or field in self._weights
                )
                if function.attrs.get(LAYOUT_FREE) == free:
                    return call
                own = self._table.add(_with_own_names(function, free), numbered(name))
                return replace(call, args=(GlobalVar(own), call.args[1], *rest))
            case value:
                return value


def _with_own_names(function: tir.PrimFunc, free: tuple[int, ...]) -> tir.PrimFunc:
    """Return a private copy of `function` with the attribute, with its own variables and buffers."""
    attrs = {name: value for name, value in function.attrs.items() if name != "global_symbol"}
    return own_copy(replace(function, attrs={**attrs, LAYOUT_FREE: free}))


def own_copy(function: tir.PrimFunc) -> tir.PrimFunc:
    """Return a copy of `function` with its own variables and buffers."""
    copies = {
        defined_variable: replace(defined_variable)
        for node in walk(function)
        for defined_variable in defined_variables(node)
    }
    return substitute(function, copies)
