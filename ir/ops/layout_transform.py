"""Layout transformation of tensors by index maps (TVM: `relax.op.layout_transform`, `tir.IndexMap`)."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from math import lcm
from typing import Any, cast

from msgspec import Struct

from .. import te, tir
from ..base import StructInfo
from ..dtype import is_int
from ..index_dtype import IndexDtype
from ..visit import substitute, walk
from . import dims as d
from .inference import Inference, dims_of, same_as_first, tensor_info
from .registry import Param, RelaxOp, register


def _int64(index_map: tir.IndexMap) -> tir.IndexMap:
    """Return the map with int64 indices, the dtype of shapes."""
    indices = IndexDtype("int64", {})
    final = tuple(indices.index(index) for index in index_map.final_indices)
    return tir.IndexMap(tuple(indices.variable(var) for var in index_map.initial_indices), final)


class _Domain(Struct, frozen=True):
    """The sizes of the dimensions of a map, rounded up to multiples of their divisors in the map.

    A symbolic size that must be rounded up is `count * unit`, where the variable `count` is the number of blocks in `counts`.
    """

    sizes: Mapping[tir.Var, tir.PrimExpr]
    counts: Mapping[tir.Var, tir.PrimExpr]

    @property
    def ranges(self) -> dict[tir.Var, tir.Range]:
        return {var: tir.Range(d.dim(0), size) for var, size in self.sizes.items()}


def _domain(index_map: tir.IndexMap, sizes: Sequence[tir.PrimExpr]) -> _Domain:
    """Return the domain of a map for a tensor with these sizes."""
    whole: dict[tir.Var, tir.PrimExpr] = {}
    counts: dict[tir.Var, tir.PrimExpr] = {}
    for var, size in zip(index_map.initial_indices, sizes, strict=True):
        unit = lcm(1, *(by for index in index_map.final_indices for by in _divisors(index, var)))
        known = d.value_of(size)
        if known is not None:
            whole[var] = d.dim(-(-known // unit) * unit)
        elif d.is_multiple(size, unit):
            whole[var] = size
        else:
            count = tir.Var("int64", var.name)
            below = tir.FloorMod("int64", size, d.dim(-unit))
            counts[count] = tir.FloorDiv("int64", tir.Sub("int64", size, below), d.dim(unit))
            whole[var] = d.multiply(count, unit)
    return _Domain(whole, counts)


def _divisors(index: tir.PrimExpr, var: tir.Var) -> list[int]:
    """Return the divisors of expressions of `var` alone."""
    divisions = [node for node in walk(index) if isinstance(node, tir.FloorDiv | tir.FloorMod)]
    return [
        node.b.value
        for node in divisions
        if isinstance(node.b, tir.IntImm) and {below for below in walk(node.a) if isinstance(below, tir.Var)} == {var}
    ]


def _map_shape(index_map: tir.IndexMap, domain: _Domain) -> list[tir.PrimExpr] | None:
    """Return the shape of the result: the maximum of each index plus one; None if a symbolic one is not found."""
    from ..analysis.const_bounds import const_bounds

    is_known = all(isinstance(size, tir.IntImm) for size in domain.sizes.values())
    shape: list[tir.PrimExpr] = []
    for index in index_map.final_indices:
        extent = _extent(index, domain.sizes)
        if extent is None and is_known:
            extent = d.dim(const_bounds(index, domain.ranges).max + 1)
        if extent is None:
            return None
        shape.append(substitute(extent, domain.counts))
    return shape


def _extent(index: tir.PrimExpr, sizes: Mapping[tir.Var, tir.PrimExpr]) -> tir.PrimExpr | None:
    """Return the maximum of a sum of multiples, quotients and remainders of variables, plus one; None for other expressions."""
    if index in sizes:
        return sizes[index]  # type: ignore[reportArgumentType]
    if isinstance(index, tir.IntImm):
        return d.dim(index.value + 1) if index.value >= 0 else None
    if not isinstance(index, tir.Add | tir.Mul | tir.FloorDiv | tir.FloorMod):
        return None
    one, other = _extent(index.a, sizes), _extent(index.b, sizes)
    if one is None or other is None:
        return None
    if isinstance(index, tir.Add):
        return d.subtract(d.add(one, other), 1)
    by = d.value_of(index.b)
    if isinstance(index, tir.Mul):
        return d.add(d.multiply(d.subtract(one, 1), d.subtract(other, 1)), 1)
    if not by:
        return None
    if isinstance(index, tir.FloorDiv):
        return d.ceildiv(one, by)
    return d.dim(by) if d.is_multiple(one, by) else d.minimum(one, by)


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
    sizes, own = dims_of(info), _int64(index_map)
    shape = None if sizes is None else _map_shape(own, _domain(own, sizes))
    return tensor_info(shape, info.dtype, len(index_map.final_indices), info.vdevice)


def _inverse(index_map: tir.IndexMap, domain: _Domain, place: Sequence[tir.PrimExpr]) -> list[tir.PrimExpr] | None:
    """Return the indices that are mapped to `place`; None if the map is not built from splits and fusions."""
    from ..analysis.iter_map import detect_iter_map
    from ..analysis.iter_map_use import inverse_affine_iter_map

    found = detect_iter_map(index_map.final_indices, domain.ranges, check_level="bijective")
    if not found.is_detected:
        return None
    values = inverse_affine_iter_map(found.indices, place)
    return [substitute(values.get(var, d.dim(0)), domain.counts) for var in index_map.initial_indices]


def _compute(a: Any) -> te.Tensor | None:
    if not isinstance(a.index_map, tir.IndexMap):
        return None
    index_map = _int64(a.index_map)
    domain = _domain(index_map, a.x.dims)
    probe = [te.var("i", "int64") for _ in index_map.final_indices]
    if _map_shape(index_map, domain) is None or _inverse(index_map, domain, probe) is None:
        return None
    sizes = zip(index_map.initial_indices, a.x.dims, strict=True)
    short = [n for n, (var, size) in enumerate(sizes) if not d.is_equal(domain.sizes[var], size)]

    def value(*i: tir.PrimExpr) -> tir.PrimExpr:
        source = _inverse(index_map, domain, i)
        assert source is not None
        inside = [source[n] < a.x.dims[n] for n in short]
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
    shape = _map_shape(index_map, _domain(index_map, [d.dim(size) for size in a.x.shape])) or ()
    result = np.full([d.value_of(dim) for dim in shape], _pad_value(a.pad_value), a.x.dtype)
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
