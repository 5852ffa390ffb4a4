"""Compute expensive operators in float16 (TVM: `ToMixedPrecision`)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from msgspec.structs import replace

from .. import relax
from ..base import IRModule, Node, Op, StructInfo
from ..building.values import apply
from ..deep import deep
from ..diagnostics import error
from ..equal import structural_equal
from ..infer import infer_struct_info
from ..ops.registry import families
from ..visit import substitute, walk
from .normalize import normalized
from .rewriter import ValueRewriter, corrected_result, forgotten, refined_result
from .transform import declare_pass, map_functions

_FLOATS = ("float16", "float32")
_LARGEST = 65504
"""Largest finite float16 number."""
_ALWAYS = frozenset(
    ("relax.matmul", "relax.outer", "relax.nn.conv1d", "relax.nn.conv2d", "relax.nn.conv3d", "relax.nn.attention",
     "relax.nn.attention_bias", "relax.nn.attention_var_len")
)  # fmt: skip
"""Operators that are computed in float16, accumulating in `out_dtype`."""
_FOLLOW = frozenset(
    ("broadcast_to", "concat", "expand_dims", "flatten", "layout_transform", "permute_dims", "reshape", "split", "squeeze",
     "stack", "strided_slice", "image.resize2d", "image.resize3d", "nn.dropout", "nn.group_norm", "nn.instance_norm", "nn.layer_norm",
     "nn.rms_norm", "nn.relu", "nn.gelu", "nn.gelu_tanh", "nn.silu", "nn.selu")
)  # fmt: skip
"""Operators that are computed in float16 if all operands are float16, in addition to arithmetic and pooling."""


@declare_pass("ToMixedPrecision")
@deep
def to_mixed_precision(
    mod: IRModule, out_dtype: str = "float32", fp16_input_names: Sequence[str] | None = None
) -> IRModule:
    """Cast the float32 operands of products, convolutions and attention in dataflow blocks to float16.

    They accumulate in `out_dtype`. Following operators stay in float16 if that is safe; results keep their dtypes.
    Parameters listed in `fp16_input_names` become float16.

    Raises TvmsError: E0902 if `out_dtype` is neither float16 nor float32.
    """
    if out_dtype not in _FLOATS:
        raise error("E0902", f"pass 'ToMixedPrecision': out_dtype is {out_dtype!r}", help="give float16 or float32")
    names = frozenset(fp16_input_names or ())

    def convert(function: relax.Function) -> relax.Function:
        new = _Converter(function, out_dtype).converted(function, names)
        return new if new is function else refined_result(corrected_result(new))

    return map_functions(mod, relax.Function, convert)


def _policy(op: Op | relax.Expr) -> str:
    """Return "always", "follow" or "never"."""
    if not isinstance(op, Op):
        return "never"
    arithmetic = (*families()["unary"], *families()["binary"], *families()["pooling"])
    follows = op.name.removeprefix("relax.") in _FOLLOW or op.name in arithmetic
    return "always" if op.name in _ALWAYS else "follow" if follows else "never"


class _Converter(ValueRewriter):
    """Converts functions. `replaced` maps a variable to the one that holds its value, possibly in float16."""

    def __init__(self, function: relax.Function, out_dtype: str) -> None:
        super().__init__(function)
        self._out_dtype = out_dtype
        self._only_half = _only_used_in_half(function)
        self._params = function.params

    def converted(self, function: relax.Function, half_inputs: frozenset[str]) -> relax.Function:
        """Return the function with the listed parameters in float16."""
        params: list[relax.Var] = []
        for param in function.params:
            info = param.struct_info
            if param.name_hint in half_inputs and isinstance(info, relax.TensorStructInfo) and info.dtype == "float32":
                self.replaced[param] = replace(param, struct_info=replace(info, dtype="float16"))
            params.append(self.replaced.get(param, param))  # type: ignore[reportArgumentType]
        if not self.replaced:
            return self.function(function)
        return normalized(replace(self.function(function), params=tuple(params), struct_info=None))

    def block(self, block: relax.BindingBlock) -> relax.BindingBlock:
        """Rewrite a block; parameters that it only needs in float16 are cast at its start."""
        if not isinstance(block, relax.DataflowBlock):
            return super().block(block)
        outer = dict(self.replaced)
        with self.collecting(in_dataflow=True) as casts:
            for param in self._params:
                if param in self._only_half and param not in self.replaced and _is_used(param, block):
                    self.replaced[param] = self.emit(apply("astype", param, dtype="float16"))
        block = super().block(block)
        self.replaced = {**outer, **{var: now for var, now in self.replaced.items() if var not in self._params}}
        return replace(block, bindings=(*casts, *block.bindings)) if casts else block

    def visit(self, binding: relax.Binding) -> relax.Binding:
        """Keep values in dataflow blocks unchanged, since `value` handles them."""
        is_left = self.in_dataflow and isinstance(binding, relax.VarBinding)
        return binding if is_left and not isinstance(binding.value, relax.Function) else super().visit(binding)

    def use(self, expr: Any) -> Any:
        """Return an expression of the values with their original dtypes."""
        used = {node for node in walk(expr) if node in self.replaced}
        return substitute(expr, {var: _cast(self.replaced[var], var.struct_info) for var in used})  # type: ignore[reportArgumentType]

    def binding(self, binding: relax.Binding) -> Iterable[relax.Binding]:
        """Rewrite a binding; a value that is only needed in float16 is cast right after it."""
        done = list(super().binding(binding))
        var = done[-1].var
        if isinstance(var, relax.DataflowVar) and binding.var in self._only_half and _dtypes(var) == {"float32"}:
            with self.collecting(in_dataflow=True) as casts:
                self.replaced[binding.var] = self.emit(apply("astype", var, dtype="float16"))
            done += casts
        return done

    def value(self, binding: relax.Binding) -> relax.Expr:
        value = binding.value
        if not self.in_dataflow or isinstance(binding, relax.MatchCast) or isinstance(value, relax.Function):
            return value
        new = self._converted(value, binding)
        return new if isinstance(binding.var, relax.DataflowVar) else _cast(new, binding.var.struct_info)

    def _converted(self, value: relax.Expr, binding: relax.Binding) -> relax.Expr:
        now = substitute(value, self.replaced)
        now = now if now is value else forgotten(now)
        match now:
            case relax.Call(op=Op(name="relax.wrap_param"), args=(param, *_)):
                return param
            case relax.Call() if (
                _policy(now.op) == "always" and _is_float(now.args) and _dtypes(*now.args) <= {*_FLOATS}
            ):
                return self._in_half(now, isinstance(binding.var, relax.DataflowVar))
            case relax.Call() if _policy(now.op) == "follow" and _are_half(now.args):
                return replace(now, args=tuple([_to_half(arg) for arg in now.args]), struct_info=None)
            case relax.Tuple() | relax.TupleGetItem() | relax.Var():
                return now
            case _:
                return self.use(value)

    def _in_half(self, call: relax.Call, is_kept: bool) -> relax.Expr:
        """Return a call on float16 operands, with a float16 result if it is kept in float16."""
        attrs = {**call.attrs, "out_dtype": self._out_dtype} if "out_dtype" in call.attrs else call.attrs
        call = replace(call, args=tuple([_to_half(arg) for arg in call.args]), attrs=attrs, struct_info=None)
        call = replace(call, struct_info=infer_struct_info(call))
        return _to_half(call) if is_kept else call


def _only_used_in_half(function: relax.Function) -> frozenset[Node]:
    """Return the variables that are only used as operands of float16 operators."""
    half: set[Node] = set()
    other: set[Node] = set(walk(function.body.body))
    for block in (node for node in walk(function) if isinstance(node, relax.BindingBlock)):
        for binding in block.bindings:
            value = binding.value
            is_half = (
                isinstance(block, relax.DataflowBlock)
                and isinstance(value, relax.Call)
                and _policy(value.op) == "always"
                and _dtypes(*value.args) <= {*_FLOATS}
            )
            (half if is_half else other).update(node for node in walk(value) if isinstance(node, relax.Var))
    return frozenset(half - other)


def _is_used(var: relax.Var, block: relax.BindingBlock) -> bool:
    return any(node is var for binding in block.bindings for node in walk(binding.value))


def _leaves(info: StructInfo | None) -> Iterable[StructInfo | None]:
    return (
        (leaf for field in info.fields for leaf in _leaves(field))
        if isinstance(info, relax.TupleStructInfo)
        else (info,)
    )


def _dtypes(*values: relax.Expr) -> set[str]:
    """Return the dtypes of the tensors in values."""
    infos = [leaf for value in values for leaf in _leaves(infer_struct_info(value))]
    return {info.dtype for info in infos if isinstance(info, relax.TensorStructInfo)}


def _is_float(args: Sequence[relax.Expr]) -> bool:
    return bool(_dtypes(*args))


def _are_half(args: Sequence[relax.Expr]) -> bool:
    """Return whether at least one tensor operand is float16 and all others are float16 or constants that fit."""
    tensors = [arg for arg in args if _dtypes(arg)]
    return all(_fits_half(arg) for arg in tensors) and any(_dtypes(arg) == {"float16"} for arg in tensors)


def _fits_half(arg: relax.Expr) -> bool:
    match arg:
        case relax.Tuple(fields=fields):
            return all(map(_fits_half, fields))
        case relax.Constant(data=data) if not isinstance(data, Node) and _dtypes(arg) == {"float32"}:
            return bool((abs(data) <= _LARGEST).all())
        case _:
            return _dtypes(arg) == {"float16"}


def _to_half(value: relax.Expr) -> relax.Expr:
    """Return a value with its float32 tensors cast to float16."""
    return _cast(value, _halved(infer_struct_info(value)))


def _halved(info: StructInfo) -> StructInfo:
    if isinstance(info, relax.TupleStructInfo):
        return replace(info, fields=tuple(map(_halved, info.fields)))
    is_single = isinstance(info, relax.TensorStructInfo) and info.dtype == "float32"
    return replace(info, dtype="float16") if is_single else info


def _cast(value: relax.Expr, wanted: StructInfo | None) -> relax.Expr:
    """Return a value cast to the dtypes of `wanted`, between float16 and float32."""
    info = infer_struct_info(value)
    if isinstance(info, relax.TupleStructInfo) and isinstance(wanted, relax.TupleStructInfo):
        if structural_equal(info, wanted):
            return value
        items = [relax.TupleGetItem(value, index) for index in range(len(info.fields))]
        fields = value.fields if isinstance(value, relax.Tuple) else items
        return relax.Tuple(tuple([_cast(field, want) for field, want in zip(fields, wanted.fields, strict=True)]))
    if not (isinstance(info, relax.TensorStructInfo) and isinstance(wanted, relax.TensorStructInfo)):
        return value
    differs = info.dtype != wanted.dtype and {info.dtype, wanted.dtype} <= {*_FLOATS}
    return apply("astype", value, dtype=wanted.dtype) if differs else value
