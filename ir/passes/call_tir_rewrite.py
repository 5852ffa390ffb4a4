"""Allocate the outputs of functions before calling them (TVM: `CallTIRRewrite`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from .. import relax, tir
from ..base import GlobalVar, IRModule, Op, StructInfo
from ..deep import deep
from ..infer import infer_struct_info
from .remove_purity_checking import lowered
from .rewriter import ValueRewriter
from .transform import declare_pass, map_functions

_CALLS = frozenset(("relax.call_tir", "relax.call_tir_with_grad", "relax.call_tir_inplace", "relax.call_dps_packed"))


@declare_pass("CallTIRRewrite")
@deep
def call_tir_rewrite(mod: IRModule) -> IRModule:
    """Replace `R.call_tir`, `R.call_tir_inplace` and `R.call_dps_packed` by allocations and calls with side effects.

    Dataflow blocks become plain blocks, and purity checks are disabled. Calls whose results have unknown shapes are
    kept.
    """
    return map_functions(lowered(mod), relax.Function, lambda function: _Allocator(mod, function).function(function))


class _Allocator(ValueRewriter):
    def __init__(self, mod: IRModule, function: relax.Function) -> None:
        super().__init__(function)
        self._devices = list(mod.global_infos.get("vdevice", ()))

    def value(self, binding: relax.Binding) -> relax.Expr:
        call = binding.value
        if not (isinstance(call, relax.Call) and isinstance(call.op, Op) and call.op.name in _CALLS):
            return call
        result = call.sinfo_args[0]
        infos = _leaves(result)
        if not all(
            isinstance(info, relax.TensorStructInfo) and isinstance(info.shape, relax.ShapeExpr) for info in infos
        ):
            return call
        return self._call(call, infos, result)

    def _call(self, call: relax.Call, infos: Sequence[StructInfo], result: StructInfo) -> relax.Expr:
        """Emit the call and return its outputs, in tuples as in `result`."""
        callee, given, *variables = call.args
        args = self._arguments(given)
        places: tuple[int, ...] = call.attrs.get("inplace_indices", (-1,) * len(infos))
        results: list[relax.Expr] = [
            self._allocate(info) if place == -1 else args[place] for info, place in zip(infos, places, strict=True)
        ]
        args = (*args, *[result for result, place in zip(results, places, strict=True) if place == -1])
        if variables:
            dynamic = (callee, relax.Tuple((*args, *variables)))
            self.emit(relax.Call(Op("relax.vm.call_tir_dyn"), dynamic, span=call.span), "_")
        else:
            self.emit(relax.Call(_written(callee), args, {}, span=call.span), "_")
        value = _as_tuples(result, iter(results))
        return replace(value, span=call.span) if isinstance(value, relax.Tuple) else value

    def _arguments(self, given: relax.Expr) -> tuple[relax.Expr, ...]:
        if isinstance(given, relax.Tuple):
            return given.fields
        info = infer_struct_info(given)
        assert isinstance(info, relax.TupleStructInfo)
        return tuple([self.emit(relax.TupleGetItem(given, index)) for index in range(len(info.fields))])

    def _allocate(self, info: StructInfo) -> relax.Expr:
        assert isinstance(info, relax.TensorStructInfo)
        assert isinstance(info.shape, relax.ShapeExpr)
        index = next((n for n, device in enumerate(self._devices) if device is info.vdevice), 0)
        shape = replace(info.shape, span=None)
        args = (
            shape,
            relax.DataTypeImm(info.dtype),
            relax.PrimValue(tir.IntImm("int64", index)),
            relax.StringImm("global"),
        )
        return self.emit(relax.Call(Op("relax.builtin.alloc_tensor"), args), "alloc")


def _leaves(info: StructInfo) -> list[StructInfo]:
    """Return the struct info of the values in a tuple, also in tuples inside it; of another value, itself."""
    return (
        [leaf for field in info.fields for leaf in _leaves(field)]
        if isinstance(info, relax.TupleStructInfo)
        else [info]
    )


def _as_tuples(info: StructInfo, values: Iterator[relax.Expr]) -> relax.Expr:
    """Return the next value, or a tuple of the next values if `info` is one."""
    if isinstance(info, relax.TupleStructInfo):
        return relax.Tuple(tuple([_as_tuples(field, values) for field in info.fields]))
    return next(values)


def _written(callee: relax.Expr) -> relax.Expr:
    """Return a function as the callee of a call with side effects."""
    result = relax.TupleStructInfo(()) if isinstance(callee, GlobalVar) else relax.ObjectStructInfo()
    return replace(callee, struct_info=relax.FuncStructInfo(None, result, purity=False))
