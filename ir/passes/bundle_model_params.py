"""Pass the weights of a model as one tuple (TVM: `BundleModelParams`)."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from .. import relax, tir
from ..base import IRModule
from ..deep import deep
from ..diagnostics import error
from ..infer import infer_struct_info
from ..visit import walk
from .rewriter import ValueRewriter
from .transform import declare_pass, map_functions

NUM_INPUT = "num_input"
"""Attribute of a function with the number of its leading parameters that are inputs, as opposed to weights."""


@declare_pass("BundleModelParams", opt_level=1)
@deep
def bundle_model_params(mod: IRModule, param_tuple_name: str = "model_params") -> IRModule:
    """Bundle the parameters after the first `num_input` into one tuple, in functions that have this attribute.

    Raises TvmsError E0906 if the attribute is not a valid number of parameters.
    """
    return map_functions(mod, relax.Function, lambda function: bundled(function, param_tuple_name))


def bundled(function: relax.Function, name: str) -> relax.Function:
    """Return `function` with its weights in a tuple called `name`."""
    count = input_count(function)
    if count is None:
        return function
    inputs, weights = function.params[:count], function.params[count:]
    info = relax.TupleStructInfo(tuple(map(infer_struct_info, weights)))
    whole = relax.Var(name, struct_info=info)
    function = replace(function, params=(*inputs, whole), struct_info=None)
    return _Unpacker(function, whole, weights).function(function)


class _Unpacker(ValueRewriter):
    """Extracts weights from their tuple where a block first uses them."""

    def __init__(self, function: relax.Function, whole: relax.Var, weights: Sequence[relax.Var]) -> None:
        super().__init__(function)
        self._whole, self._places = whole, {weight: index for index, weight in enumerate(weights)}
        self._names -= {weight.name_hint for weight in weights}

    def sequence(self, body: relax.SeqExpr) -> relax.SeqExpr:
        """Rewrite a body; weights that it returns are extracted in a last block."""
        body = super().sequence(body)
        with self.collecting() as new:
            value = self._with_fields(body.body)
        last = (relax.BindingBlock(tuple(new)),) if new else ()
        return body if value is body.body else replace(body, blocks=(*body.blocks, *last), body=value)

    def block(self, block: relax.BindingBlock) -> relax.BindingBlock:
        """Rewrite a block; the weights extracted in it are not visible to other blocks."""
        outer, self.replaced = (
            self.replaced,
            {var: new for var, new in self.replaced.items() if var not in self._places},
        )
        block = super().block(block)
        taken = {var: new for var, new in outer.items() if var in self._places}
        self.replaced = {var: new for var, new in self.replaced.items() if var not in self._places} | taken
        return block

    def value(self, binding: relax.Binding) -> relax.Expr:
        """Return a value with weights replaced by their extracted fields."""
        match binding.value:
            case relax.If() as branch:
                cond = self._with_fields(branch.cond)
                return branch if cond is branch.cond else replace(branch, cond=cond)
            case relax.Function() as function:
                return function
            case value:
                return self._with_fields(value)

    def _with_fields(self, value: relax.Expr) -> relax.Expr:
        for weight in dict.fromkeys(node for node in walk(value) if isinstance(node, relax.Var)):
            if weight in self._places and weight not in self.replaced:
                field = relax.TupleGetItem(self._whole, self._places[weight], struct_info=infer_struct_info(weight))
                self.replaced[weight] = self.emit(field, weight.name_hint)
        return self.use(value)


def input_count(function: relax.Function) -> int | None:
    """Return the attribute `num_input`, or None if it is missing. Raises E0906 if it is invalid."""
    given = function.attrs.get(NUM_INPUT)
    if given is None:
        return None
    count = given.value if isinstance(given, tir.IntImm) else given
    if not isinstance(count, int) or not 0 <= count <= len(function.params):
        reason = f"{NUM_INPUT} is {count!r}, but the function has {len(function.params)} parameters"
        raise error("E0906", reason, function.span, "give the number of leading parameters that are inputs")
    return count
