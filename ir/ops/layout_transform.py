"""Layout transformation of tensors by index maps (TVM: `relax.op.layout_transform`, `tir.IndexMap`)."""

from __future__ import annotations

import inspect
from math import lcm
from typing import TYPE_CHECKING, Any, cast

from .. import te, tir
from ..base import StructInfo
from ..dtype import is_int
from ..index_dtype import IndexDtype
from ..visit import walk
from . import dims as d
from .inference import Inference, dims_of, same_as_first, tensor_info
from .registry import Param, RelaxOp, register

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def _int64(index_map: tir.IndexMap) -> tir.IndexMap:
    """Return the map with int64 indices, the dtype of shapes."""
    indices = IndexDtype("int64", {})
    final = tuple(indices.index(index) for index in index_map.final_indices)
    return tir.IndexMap(tuple(indices.variable(var) for var in index_map.initial_indices), final)


def _whole_sizes(index_map: tir.IndexMap, sizes: Sequence[int]) -> dict[tir.Var, int]:
    """Return the size of each dimension, rounded up to a multiple of its divisors in the map."""
    whole: dict[tir.Var, int] = {}
    for var, size in zip(index_map.initial_indices, sizes, strict=True):
        unit = lcm(1, *(by for index in index_map.final_indices for by in _divisors(index, var)))
        whole[var] = -(-size // unit) * unit
    return whole


def _divisors(index: tir.PrimExpr, var: tir.Var) -> list[int]:
    """Return the divisors of expressions of `var` alone."""
    divisions = [node for node in walk(index) if isinstance(node, tir.FloorDiv | tir.FloorMod)]
    return [
        node.b.value
        for node in divisions
        if isinstance(node.b, tir.IntImm) and {below for below in walk(node.a) if isinstance(below, tir.Var)} == {var}
    ]


def _map_shape(index_map: tir.IndexMap, whole: Mapping[tir.Var, int]) -> list[tir.PrimExpr]:
    """Return the shape of the result: the maximum of each index plus one."""
    from ..analysis.const_bounds import const_bounds

    return [d.dim(const_bounds(index, _domains(whole)).max + 1) for index in index_map.final_indices]


def _domains(whole: Mapping[tir.Var, int]) -> dict[tir.Var, tir.Range]:
    return {var: tir.Range(d.dim(0), d.dim(size)) for var, size in whole.items()}


def _complete(values: dict[str, Any]) -> None:
    """Convert a function of indices to an index map (TVM: `IndexMap.from_func`), and None to no separators."""
    for name in ("axis_separators", "input_axis_separators"):
        values[name] = values[name] or ()
    given = values["index_map"]
    if callable(given):
        indices = [te.var(name, "int64") for name in inspect.signature(given).parameters]
        result = cast("Any", given(*indices))
        final = cast("Sequence[tir.PrimExpr | int]", result if isinstance(result, tuple | list) else (result,))
        values["index_map"] = tir.IndexMap(
            tuple(indices),
            tuple(te.operand(index, "int64") for index in final),
        )


def _infer(a: Inference) -> StructInfo:
    info, index_map = a.tensor("x"), a.attr("index_map")
    if not isinstance(index_map, tir.IndexMap):
        return same_as_first(a)
    if info.ndim not in (-1, len(index_map.initial_indices)):
        raise a.fail("E0323", f"maps {len(index_map.initial_indices)} dimensions, but 'x' has {info.ndim}")
    if is_int(info.dtype) and isinstance(_pad_value(a.call.attrs.get("pad_value")), float):
        raise a.fail("E0324", f"cannot fill a tensor of dtype {info.dtype} with {a.attr('pad_value')}")
    sizes = [d.value_of(dim) for dim in dims_of(info) or ()]
    known = [size for size in sizes if size is not None]
    if len(known) != len(index_map.initial_indices):
        return tensor_info(None, info.dtype, len(index_map.final_indices), info.vdevice)
    own = _int64(index_map)
    return tensor_info(_map_shape(own, _whole_sizes(own, known)), info.dtype, -1, info.vdevice)


def _inverse(
    index_map: tir.IndexMap, whole: Mapping[tir.Var, int], place: Sequence[tir.PrimExpr]
) -> list[tir.PrimExpr] | None:
    """Return the indices that are mapped to `place`; None if the map is not built from splits and fusions."""
    from ..analysis.iter_map import detect_iter_map
    from ..analysis.iter_map_use import inverse_affine_iter_map

    found = detect_iter_map(index_map.final_indices, _domains(whole), check_level="bijective")
    if not found.is_detected:
        return None
    values = inverse_affine_iter_map(found.indices, place)
    return [values.get(var, d.dim(0)) for var in index_map.initial_indices]


def _compute(a: Any) -> te.Tensor | None:
    sizes = [d.value_of(dim) for dim in a.x.dims]
    known = [size for size in sizes if size is not None]
    if not isinstance(a.index_map, tir.IndexMap) or len(known) != a.x.ndim:
        return None
    index_map = _int64(a.index_map)
    whole = _whole_sizes(index_map, known)
    probe = [te.var("i", "int64") for _ in index_map.final_indices]
    if _inverse(index_map, whole, probe) is None:
        return None

    def value(*i: tir.PrimExpr) -> tir.PrimExpr:
        source = _inverse(index_map, whole, i)
        assert source is not None
        short = [n for n, size in enumerate(known) if whole[index_map.initial_indices[n]] != size]
        inside = [source[n] < te.const(known[n], "int64") for n in short]
        fill = te.const(_pad_value(a.pad_value), a.x.dtype)
        return te.if_then_else(te.all(*inside), a.x(*source), fill) if inside else a.x(*source)

    return te.compute(a.result.dims, value, "te_layout_transform")


def _pad_value(given: Any) -> Any:
    return getattr(given, "value", given) or 0


def _numpy(np: Any, a: Any) -> Any:
    from ..analysis.evaluate import evaluate

    index_map = _int64(a.index_map)
    transposed = _transposed(a.x, index_map)
    if transposed is not None:
        return np.ascontiguousarray(transposed)
    shape = [d.value_of(dim) for dim in _map_shape(index_map, _whole_sizes(index_map, a.x.shape))]
    result = np.full(shape, _pad_value(a.pad_value), a.x.dtype)
    for place in np.ndindex(*a.x.shape):
        at = dict(zip(index_map.initial_indices, place, strict=True))
        result[tuple(evaluate(index, at) for index in index_map.final_indices)] = a.x[place]
    return result


def _transposed(x: Any, index_map: tir.IndexMap) -> Any:
    """Return the result as a view of `x`, if the map only splits dimensions evenly in two and permutes them; None otherwise."""
    parts: list[tuple[tir.Var, int]] = []
    sizes: list[int] = []
    for var, size in zip(index_map.initial_indices, x.shape, strict=True):
        divisors = {by for index in index_map.final_indices for by in _divisors(index, var)}
        by = divisors.pop() if divisors else 0
        if divisors or (by and size % by):
            return None
        parts += [(var, 0), (var, 1)] if by else [(var, 0)]
        sizes += [size // by, by] if by else [size]
    found: list[tuple[tir.Var, int]] = []
    for index in index_map.final_indices:
        match index:
            case tir.Var():
                found.append((index, 0))
            case tir.FloorDiv(a=tir.Var() as var, b=tir.IntImm()) | tir.FloorMod(a=tir.Var() as var, b=tir.IntImm()):
                found.append((var, int(isinstance(index, tir.FloorMod))))
            case _:
                return None
    if len(found) != len(parts) or {*found} != {*parts}:
        return None
    return x.reshape(sizes).transpose([parts.index(part) for part in found])


register(
    RelaxOp(
        "relax.layout_transform",
        (
            Param("x"),
            Param("index_map", "value"),
            Param("pad_value", "value", None),
            Param("axis_separators", "opt_ints", ()),
            Param("input_axis_separators", "opt_ints", ()),
        ),
        _infer,
        "Transform the layout of `x` by `index_map`; `pad_value` fills dimensions that are not divisible.",
        _numpy,
        _compute,
        complete=_complete,
        prim_func="te_layout_transform",
    )
)
