"""Layouts of tensors and the conversions between them (TVM: `tvm.tir.data_layout`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ... import make, te, tir
from ...dtype import is_int
from ...ops.layouts import Layout as _Parts
from ...ops.layouts import parse_layout
from ...simplify import simplify


class Layout:
    """An order of dimensions such as "NCHW16c": a capital letter is a dimension, or its outer part if it is split; a number and a small
    letter are its inner part (TVM: `tir.Layout`).
    """

    def __init__(self, name: str, parts: _Parts, dtype: str) -> None:
        self.name = name
        self.parts = parts
        self.dtype = dtype

    @property
    def axes(self) -> tuple[tir.IterVar, ...]:
        """An iterator for each dimension; the extent of a dimension that is not an inner part is the variable `<name>_shape`."""
        zero, found = make.const(0, self.dtype), list[tir.IterVar]()
        for letter, (_, size) in zip(self, self.parts.parts, strict=True):
            extent = make.const(size, self.dtype) if size else tir.Var(self.dtype, f"{letter}_shape")
            var = tir.Var(self.dtype, letter)
            found.append(tir.IterVar(tir.Range(zero, extent), var, tir.IterVarType.DATA_PAR))
        return tuple(found)

    def __iter__(self) -> Any:
        return iter([name.lower() if size else name for name, size in self.parts.parts])

    def __len__(self) -> int:
        return self.parts.ndim

    def __contains__(self, axis: str) -> bool:
        return axis in [*self]

    def __getitem__(self, index: int) -> str:
        return [*self][index]

    def __str__(self) -> str:
        return self.name

    __repr__ = __str__

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Layout) and (self.parts, self.dtype) == (other.parts, other.dtype)

    def __hash__(self) -> int:
        return hash((self.parts, self.dtype))

    def index_of(self, axis: str) -> int:
        """Return the position of a dimension, -1 if the layout lacks it."""
        return [*self].index(axis) if axis in self else -1

    def factor_of(self, axis: str) -> int:
        """Return the size of the inner part of a dimension, -1 if it is not split."""
        factor = self.parts.factor(axis.upper())
        return factor if factor > 1 else -1


class BijectiveLayout:
    """The conversion from one layout to another one of the same dimensions (TVM: `tir.BijectiveLayout`)."""

    def __init__(self, src_layout: Layout, dst_layout: Layout) -> None:
        self.src_layout = src_layout
        self.dst_layout = dst_layout

    def forward_index(self, index: Sequence[te.Value]) -> tuple[tir.PrimExpr, ...]:
        """Return the index in the second layout of the element at `index` in the first one."""
        return _index(self.src_layout.parts, self.dst_layout.parts, index)

    def backward_index(self, index: Sequence[te.Value]) -> tuple[tir.PrimExpr, ...]:
        """Return the index in the first layout of the element at `index` in the second one."""
        return _index(self.dst_layout.parts, self.src_layout.parts, index)

    def forward_shape(self, shape: Sequence[te.Value]) -> tuple[tir.PrimExpr, ...]:
        """Return the shape in the second layout; a size that its block does not divide is rounded up."""
        return _shape(self.src_layout.parts, self.dst_layout.parts, shape)

    def backward_shape(self, shape: Sequence[te.Value]) -> tuple[tir.PrimExpr, ...]:
        """Return the shape in the first layout."""
        return _shape(self.dst_layout.parts, self.src_layout.parts, shape)


def _nodes(layout: _Parts, values: Sequence[te.Value]) -> list[tir.PrimExpr]:
    if len(values) != layout.ndim:
        raise ValueError(f"expected {layout.ndim} values for the layout, got {len(values)}")
    dtype = next((value.dtype for value in values if isinstance(value, tir.PrimExpr)), "int32")
    return [te.operand(value, dtype) for value in values]


def _index(source: _Parts, target: _Parts, index: Sequence[te.Value]) -> tuple[tir.PrimExpr, ...]:
    nodes = _nodes(source, index)
    whole: dict[str, tir.PrimExpr] = {}
    for part, (node, (name, _)) in enumerate(zip(nodes, source.parts, strict=True)):
        term = node * make.const(source.stride(part), node.dtype)
        whole[name] = whole[name] + term if name in whole else term
    found: list[tir.PrimExpr] = []
    for part, (name, size) in enumerate(target.parts):
        value = make.floordiv(whole[name], make.const(target.stride(part), whole[name].dtype))
        found.append(simplify(make.floormod(value, make.const(size, value.dtype)) if size else value))
    return tuple(found)


def _shape(source: _Parts, target: _Parts, shape: Sequence[te.Value]) -> tuple[tir.PrimExpr, ...]:
    nodes = _nodes(source, shape)
    whole = {
        name: node * make.const(source.factor(name), node.dtype)
        for node, (name, size) in zip(nodes, source.parts, strict=True)
        if not size
    }
    return tuple(
        make.const(size, nodes[0].dtype)
        if size
        else simplify(make.ceildiv(whole[name], make.const(target.factor(name), nodes[0].dtype)))
        for name, size in target.parts
    )


def layout(layout_str: str, dtype: str = "int32") -> Layout:
    """Return the layout written as `layout_str`, with axes of `dtype`. ValueError if it is malformed, TypeError for other dtypes than int32 and int64."""
    if not isinstance(dtype, str) or not is_int(dtype):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"the axes of a layout have the dtype int32 or int64, not {dtype}")
    parts = parse_layout(layout_str)
    if parts is None:
        raise ValueError(f'"{layout_str}" is not a layout; write capitals, and blocks as in "NCHW4c"')
    return Layout(layout_str, parts, dtype)


def bijective_layout(src_layout: str | Layout, dst_layout: str | Layout) -> BijectiveLayout | None:
    """Return the conversion from one layout to another one, None if they have other dimensions or one is undefined."""
    layouts = [given if isinstance(given, Layout) else _known(given) for given in (src_layout, dst_layout)]
    source, target = layouts
    if source is None or target is None:
        return None
    names = [{name for name, size in given.parts.parts if not size} for given in (source, target)]
    return BijectiveLayout(source, target) if names[0] == names[1] else None


def _known(text: str) -> Layout | None:
    return layout(text) if text not in ("", "__undef__") else None
