"""Replace the loop functions that implement an operator by others (TVM: `AlterOpImpl`)."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, cast

from msgspec.structs import replace

from .. import relax, te, tir
from ..base import GlobalVar, IRModule, Op, StructInfo
from ..building.values import apply, plain_nodes
from ..deep import deep
from ..diagnostics import error
from ..function_table import FunctionTable, numbered
from ..ops import dims as d
from ..ops.inference import dims_of, tensor_info
from ..schedule.analysis.index_maps import inverse, map_shape
from .rewriter import ValueRewriter
from .transform import declare_pass, map_functions

OPERATOR_NAME = "operator_name"
"""Attribute of a loop function with the name of the operator that it computes."""

Layout: TypeAlias = "tir.IndexMap | Callable[..., Any] | None"
"""Layout of a buffer: an index map, or a function from index expressions to index expressions; None if unchanged."""
Separators: TypeAlias = Mapping[str, "Sequence[Sequence[int]] | None"]


@declare_pass("AlterOpImpl")
@deep
def alter_op_impl(
    mod: IRModule,
    op_impl_map: Mapping[str, tir.PrimFunc],
    op_buffer_transforms: Mapping[str, Sequence[Layout]] | None = None,
    op_buffer_axis_separators: Separators | None = None,
    op_buffer_input_axis_separators: Separators | None = None,
) -> IRModule:
    """Call `op_impl_map[name]` instead of each function whose attribute `operator_name` is that name.

    `op_buffer_transforms[name]` lists the layouts of its buffers, inputs before outputs. Operands are converted by
    `R.layout_transform`, and results are converted back; a function `remove_pad` removes their padding. `op_buffer_axis_separators` are the
    axis separators of what the layout transform of each buffer returns, `op_buffer_input_axis_separators` those of its operand.

    Raises TvmsError: E0902 if an implementation is not a loop function, if the numbers of layouts and buffers differ,
    or if a layout cannot be inverted.
    """
    for name, function in op_impl_map.items():
        if not isinstance(cast("object", function), tir.PrimFunc):
            reason = f"the implementation of '{name}' is a {type(function).__name__}, not a T.prim_func"
            raise error("E0902", f"pass 'AlterOpImpl': {reason}", help="give the function itself, as mod['name']")
    alterer = _Options(
        mod,
        op_impl_map,
        op_buffer_transforms or {},
        op_buffer_axis_separators or {},
        op_buffer_input_axis_separators or {},
    )
    changed = map_functions(mod, relax.Function, lambda function: _Alterer(function, alterer).function(function))
    return mod if changed is mod else replace(changed, functions={**alterer.table.functions, **changed.functions})


class _Options:
    """Options of the pass, by operator."""

    def __init__(
        self,
        mod: IRModule,
        functions: Mapping[str, tir.PrimFunc],
        layouts: Mapping[str, Sequence[Layout]],
        separators: Separators,
        input_separators: Separators,
    ) -> None:
        self.table = FunctionTable(mod.functions)
        self._mod, self._functions, self._layouts = mod, functions, layouts
        self._separators, self._input_separators = separators, input_separators

    def operator_of(self, call: relax.Expr) -> str | None:
        """Return the operator whose function is called, if it has a replacement."""
        match call:
            case relax.Call(op=Op(name="relax.call_tir"), args=(GlobalVar(name_hint=name), relax.Tuple())):
                operator = self._mod.functions[name].attrs.get(OPERATOR_NAME) if name in self._mod else None
                return operator if operator in self._functions else None
            case _:
                return None

    def replacement(self, operator: str) -> GlobalVar:
        """Return the private function that replaces the implementations of an operator."""
        function = self._functions[operator]
        attrs = {key: value for key, value in function.attrs.items() if key != "global_symbol"}
        private = replace(function, attrs={**attrs, OPERATOR_NAME: operator})
        base = f"{operator.replace('.', '_')}_replacement"
        return GlobalVar(self.table.add(private, numbered(base)))

    def layouts(self, operator: str, infos: Sequence[StructInfo]) -> list[tir.IndexMap | None]:
        """Return the layout of each buffer."""
        given = self._layouts.get(operator) or [None] * len(infos)
        if len(given) != len(infos):
            reason = f"expected {len(infos)} layouts for '{operator}', got {len(given)}"
            raise error("E0902", f"pass 'AlterOpImpl': {reason}", help="give one for each input and output, or None")
        return [None if item is None else _index_map(item, info) for item, info in zip(given, infos, strict=True)]

    def separators(self, operator: str, position: int) -> dict[str, tuple[int, ...] | None]:
        """Return the attributes of the layout transform of a buffer that specify axis separators."""
        own, of_input = self._separators.get(operator), self._input_separators.get(operator)
        return {
            "axis_separators": tuple(own[position]) if own else (),
            "input_axis_separators": tuple(of_input[position]) if of_input else (),
        }


def _index_map(given: Any, info: StructInfo) -> tir.IndexMap:
    if isinstance(given, tuple | list):  # of IndexMap.from_func_with_separators
        given = cast("Sequence[Any]", given)[0]
    if isinstance(given, tir.IndexMap):
        return given
    names = list(inspect.signature(given).parameters)
    variables = [tir.Var("int64", name) for name in names]
    result: Any = given(*variables)
    parts = cast("Sequence[Any]", result) if isinstance(result, tuple | list) else (result,)
    indices = plain_nodes([index for index in parts if not isinstance(index, str)])  # "axis_separator"
    assert isinstance(info, relax.TensorStructInfo)
    if len(names) != info.ndim:
        reason = f"expected a layout of {info.ndim} indices, got {len(names)}"
        raise error("E0902", f"pass 'AlterOpImpl': {reason}", help="give one index for each dimension")
    return tir.IndexMap(tuple(variables), tuple([d.as_dim(index) for index in indices]))


class _Alterer(ValueRewriter):
    def __init__(self, function: relax.Function, options: _Options) -> None:
        super().__init__(function)
        self._options = options

    def value(self, binding: relax.Binding) -> relax.Expr:
        call, options = binding.value, self._options
        operator = options.operator_of(call)
        if operator is None:
            return call
        assert isinstance(call, relax.Call)
        inputs = call.args[1]
        assert isinstance(inputs, relax.Tuple)
        result = call.sinfo_args[0]
        outputs = result.fields if isinstance(result, relax.TupleStructInfo) else (result,)
        infos = [*[arg.struct_info for arg in inputs.fields], *outputs]
        layouts = options.layouts(operator, [info for info in infos if info is not None])
        count = len(inputs.fields)
        args = [
            _laid_out(arg, layout, options.separators(operator, at))
            for at, (arg, layout) in enumerate(zip(inputs.fields, layouts[:count], strict=True))
        ]
        changed = [_mapped(info, layout) for info, layout in zip(outputs, layouts[count:], strict=True)]
        info = relax.TupleStructInfo(tuple(changed)) if isinstance(result, relax.TupleStructInfo) else changed[0]
        args_of_call = (options.replacement(operator), relax.Tuple(tuple(args)), *call.args[2:])
        new = relax.Call(Op("relax.call_tir"), args_of_call, {}, (info,), span=call.span, struct_info=info)
        if all(layout is None for layout in layouts[count:]):
            return new
        whole = self.emit(new)
        items = [
            relax.TupleGetItem(whole, at) if isinstance(result, relax.TupleStructInfo) else whole
            for at in range(len(outputs))
        ]
        restored = [
            _restored(item, info, layout, options.separators(operator, count + at), options.table)
            for at, (item, info, layout) in enumerate(zip(items, outputs, layouts[count:], strict=True))
        ]
        return relax.Tuple(tuple(restored)) if isinstance(result, relax.TupleStructInfo) else restored[0]


def _laid_out(value: relax.Expr, layout: tir.IndexMap | None, separators: Mapping[str, Any]) -> relax.Expr:
    is_scalar = isinstance(value, relax.Constant) and getattr(value.data, "ndim", 1) == 0
    return value if layout is None or is_scalar else apply("layout_transform", value, index_map=layout, **separators)


def _mapped(info: StructInfo, layout: tir.IndexMap | None) -> StructInfo:
    """Return the struct info of a tensor in another layout."""
    if layout is None or not isinstance(info, relax.TensorStructInfo):
        return info
    shape = map_shape(layout, dims_of(info) or ())
    if shape is None:
        raise error(
            "E0902", f"pass 'AlterOpImpl': the layout of {info} has no known shape", help="choose another layout"
        )
    return tensor_info(shape, info.dtype, len(shape), info.vdevice)


def _restored(
    value: relax.Expr,
    info: StructInfo,
    layout: tir.IndexMap | None,
    separators: Mapping[str, Any],
    table: FunctionTable,
) -> relax.Expr:
    """Return a result in its original layout, without padding."""
    assert isinstance(info, relax.TensorStructInfo)
    dims = dims_of(info)
    if layout is None or dims is None:
        return value
    undone = inverse(layout, dims)
    if undone is None:
        help = "give an injective layout"
        raise error("E0902", f"pass 'AlterOpImpl': the layout of {info} cannot be inverted", help=help)
    backward = tir.IndexMap(undone.places, undone.elements)
    result = apply("layout_transform", value, index_map=backward, **separators)
    if not undone.has_padding:
        return result
    function = GlobalVar(table.add(_remove_pad(len(dims), info.dtype), numbered("remove_pad")))
    return relax.Call(Op("relax.call_tir"), (function, relax.Tuple((result,))), {}, (info,), struct_info=info)


def _remove_pad(rank: int, dtype: str) -> tir.PrimFunc:
    """Return a function that copies the first elements along each dimension, of sizes that its buffers determine."""
    padded, sizes = ([te.var(f"{letter}{axis}", "int64") for axis in range(rank)] for letter in "pi")
    source = te.placeholder(padded, dtype, "input")
    function = te.create_prim_func([source, te.compute(sizes, lambda *indices: source(*indices), "output")])
    attrs = {name: value for name, value in function.attrs.items() if name != "global_symbol"}
    return replace(function, attrs={**attrs, OPERATOR_NAME: "remove_pad"})
