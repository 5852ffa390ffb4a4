"""Padding (TVM: `relax.op.nn.pad`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .. import te, tir
from ..base import StructInfo
from . import dims as d
from .inference import Inference, dims_of, tensor_info
from .registry import Param, RelaxOp, register
from .windows import padded

_NUMPY_MODES = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}
"""NumPy's names of the modes that fill the padding from the data."""


def _infer_pad(a: Inference) -> StructInfo:
    info, width, mode = a.tensor("data"), a.attr("pad_width"), a.attr("pad_mode")
    if mode not in ("constant", *_NUMPY_MODES):
        choices = ", ".join(f'"{name}"' for name in ("constant", *_NUMPY_MODES))
        raise a.fail("E0321", f'cannot pad in the mode "{mode}"', f"choose one of {choices}")
    if info.ndim != -1 and len(width) != 2 * info.ndim:
        raise a.fail(
            "E0105", f"gets {len(width)} widths for {info.ndim} dimensions", "give two for each: before and after"
        )
    dims = dims_of(info)
    if dims is None:
        return tensor_info(None, info.dtype, len(width) // 2, info.vdevice)
    for axis, dim in enumerate(dims):
        length, most = d.value_of(dim), max(width[2 * axis], width[2 * axis + 1])
        if mode == "reflect" and length is not None and most >= length:
            raise a.fail("E0326", f"cannot reflect {most} elements of dimension {axis}, which is {length}")
        if mode != "constant" and length == 0 and most > 0:
            raise a.fail("E0326", f"cannot fill dimension {axis} with its elements, because it is 0")
    return tensor_info(
        [d.add(dim, width[2 * n] + width[2 * n + 1]) for n, dim in enumerate(dims)], info.dtype, -1, info.vdevice
    )


def _reflected(place: tir.PrimExpr, length: tir.PrimExpr) -> tir.PrimExpr:
    return te.select(place < 0, place * -1, te.select(place < length, place, length * 2 - 2 - place))


def _replicated(place: tir.PrimExpr, length: tir.PrimExpr) -> tir.PrimExpr:
    return te.minimum(te.maximum(place, 0), length - 1)


def _circular(place: tir.PrimExpr, length: tir.PrimExpr) -> tir.PrimExpr:
    return place % length


def _symmetric(place: tir.PrimExpr, length: tir.PrimExpr) -> tir.PrimExpr:
    return te.select(place < 0, place * -1 - 1, te.select(place < length, place, length * 2 - 1 - place))


_SOURCES: dict[str, Callable[[tir.PrimExpr, tir.PrimExpr], tir.PrimExpr]] = {
    "reflect": _reflected,
    "symmetric": _symmetric,
    "replicate": _replicated,
    "circular": _circular,
}
"""The index of the source element for an index outside of a dimension, by mode."""


def _is_padded(*widths: int | tir.PrimExpr) -> bool:
    return any(isinstance(width, tir.PrimExpr) or width != 0 for width in widths)


def filled(
    x: te.Tensor, before: Sequence[int | tir.PrimExpr], after: Sequence[int | tir.PrimExpr], mode: str, name: str
) -> te.Tensor:
    """Return `x` padded with its own elements; the block is called `name`."""
    parts = list(zip(x.shape, before, after, strict=True))

    def element(*i: tir.PrimExpr) -> tir.PrimExpr:
        return x(
            *(
                _SOURCES[mode](item - low, length) if _is_padded(low, high) else item
                for item, (length, low, high) in zip(i, parts, strict=True)
            )
        )

    return te.compute(
        [length + low + high if _is_padded(low, high) else length for length, low, high in parts], element, name
    )


def _pad(a: Any) -> te.Tensor:
    before, after = a.pad_width[::2], a.pad_width[1::2]
    if a.pad_mode == "constant":
        return padded(a.data, before, after, te.const(a.pad_value, a.data.dtype), "PadInput")
    return filled(a.data, before, after, a.pad_mode, f"{a.pad_mode.title()}PadInput")


def _numpy_pad(np: Any, a: Any) -> Any:
    widths = list(zip(a.pad_width[::2], a.pad_width[1::2], strict=True))
    added = [(max(low, 0), max(high, 0)) for low, high in widths]
    if a.pad_mode == "constant":
        whole = np.pad(a.data, added, constant_values=a.pad_value)
    else:
        whole = np.pad(a.data, added, _NUMPY_MODES[a.pad_mode])
    kept = [slice(max(-low, 0), size + min(high, 0)) for (low, high), size in zip(widths, whole.shape, strict=True)]
    return whole[tuple(kept)]


def _complete(values: dict[str, Any]) -> None:
    values["pad_mode"] = values["pad_mode"] or "constant"


register(
    RelaxOp(
        "relax.nn.pad",
        (
            Param("data"),
            Param("pad_width", "ints"),
            Param("pad_mode", "opt_str", "constant"),
            Param("pad_value", "float", 0.0),
        ),
        _infer_pad,
        "Pad `data` by `pad_width` elements before and after each dimension, with `pad_value` or with elements of the data "
        "that `pad_mode` selects.",
        _numpy_pad,
        _pad,
        complete=_complete,
        attrs_order=("pad_width", "pad_value", "pad_mode"),
    )
)
