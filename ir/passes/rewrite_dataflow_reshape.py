"""Recognize loop functions that only reshape their argument (TVM: `RewriteDataflowReshape`)."""

from __future__ import annotations

from functools import reduce

from .. import relax, tir
from ..analysis.proof import prove
from ..base import GlobalVar, IRModule, Op
from ..deep import deep
from ..make import add, equal, mul
from ..ops import dims as d
from ..ops.inference import dims_of
from ..visit import walk
from .rewriter import ValueRewriter
from .transform import declare_pass, map_functions


@declare_pass("RewriteDataflowReshape")
@deep
def rewrite_dataflow_reshape(mod: IRModule) -> IRModule:
    """Replace calls of loop functions in dataflow blocks that copy all elements in order by `R.reshape`.

    A reshape copies no memory. Outputs of the block are kept, as they would share memory with other values.
    """
    return map_functions(mod, relax.Function, lambda function: _ReshapeRestorer(mod, function).function(function))


class _ReshapeRestorer(ValueRewriter):
    def __init__(self, mod: IRModule, function: relax.Function) -> None:
        super().__init__(function)
        self._mod = mod

    def value(self, binding: relax.Binding) -> relax.Expr:
        match binding:
            case relax.VarBinding(
                var=relax.DataflowVar(),
                value=relax.Call(
                    op=Op(name="relax.call_tir"),
                    args=(GlobalVar(name_hint=name), relax.Tuple(fields=(source,))),
                    sinfo_args=(relax.TensorStructInfo(shape=relax.ShapeExpr() as shape) as result,),
                ) as call,
            ) if is_reshape(self._mod.functions.get(name)) and _is_same_size(source.struct_info, result):
                return relax.Call(Op("relax.reshape"), (source, shape), span=call.span)
            case _:
                return binding.value


def _is_same_size(source: object, result: relax.TensorStructInfo) -> bool:
    if not isinstance(source, relax.TensorStructInfo) or source.dtype != result.dtype:
        return False
    old, new = dims_of(source), dims_of(result)
    return old is not None and new is not None and d.is_equal(d.product(old), d.product(new))


def is_reshape(function: object) -> bool:
    """Return whether a loop function copies a buffer in order into another one of equal size.

    (TVM: `has_reshape_pattern`.)
    """
    if not isinstance(function, tir.PrimFunc) or len(function.params) != 2 or len(function.buffer_map) != 2:
        return False
    source, target = [function.buffer_map[param] for param in function.params]
    realizes = [node for node in walk(function.body) if isinstance(node, tir.BlockRealize) and node.block.iter_vars]
    if len(realizes) != 1 or source.strides or target.strides:
        return False
    match realizes[0].block.body:
        case tir.BufferStore(buffer=written, value=tir.BufferLoad(buffer=read, indices=places), indices=indices) if (
            written is target and read is source
        ):
            return _is_in_order(realizes[0], (source, places), (target, indices))
        case _:
            return False


def _is_in_order(
    realize: tir.BlockRealize,
    source: tuple[tir.Buffer, tuple[tir.PrimExpr, ...]],
    target: tuple[tir.Buffer, tuple[tir.PrimExpr, ...]],
) -> bool:
    domains = {axis.var: axis.dom for axis in realize.block.iter_vars if axis.dom is not None}
    is_whole = isinstance(realize.predicate, tir.IntImm) and realize.predicate.value == 1
    return is_whole and prove(equal(_flat(*source), _flat(*target)), domains).is_proven


def _flat(buffer: tir.Buffer, indices: tuple[tir.PrimExpr, ...]) -> tir.PrimExpr:
    """Return the offset of an element in row-major order."""
    pairs = zip(indices, buffer.shape, strict=True)
    zero: tir.PrimExpr = d.dim(0)
    return reduce(lambda place, pair: add(mul(place, pair[1]), pair[0]), pairs, zero)
