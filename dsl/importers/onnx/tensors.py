"""Tensors and types of a model as constants and struct info."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from ....ir import relax
from ....ir.building.values import inferred
from ....ir.diagnostics import error
from ....ir.dtype import is_dtype
from .library import library

if TYPE_CHECKING:
    from numpy.typing import NDArray


@lru_cache(maxsize=64)
def dtype_name(kind: int) -> str:
    """Return the name of the dtype that a model calls by number; E1005 if programs do not support it."""
    numbers = library().TensorProto.DataType
    name = numbers.Name(kind) if kind in numbers.values() else str(kind)
    found = _NAMES.get(name, name.lower())
    if not is_dtype(found):
        raise error("E1005", f"the model has tensors of dtype {name}", None, "convert them before the import")
    return found


_NAMES = {
    "FLOAT": "float32", "DOUBLE": "float64", "FLOAT8E4M3FN": "float8_e4m3fn", "FLOAT8E4M3FNUZ": "float8_e4m3fnuz",
    "FLOAT8E5M2": "float8_e5m2", "FLOAT8E5M2FNUZ": "float8_e5m2fnuz", "FLOAT4E2M1": "float4_e2m1fn",
    "FLOAT8E8M0": "float8_e8m0fnu",
}  # fmt: skip
"""Dtypes that the ONNX standard and this program name differently."""


def onnx_dtype(dtype: str) -> int:
    """Return the number by which a model calls a dtype."""
    names = {own: name for name, own in _NAMES.items()}
    return library().TensorProto.DataType.Value(names.get(dtype, dtype.upper()))


def constant_of(tensor: Any) -> relax.Constant:
    """Return a tensor of the model as a constant with its name."""
    return named_constant(array_of(tensor), tensor.name or None)


def named_constant(array: NDArray[Any], name: str | None) -> relax.Constant:
    """Return an array as a constant with the name `name` in the sidecar."""
    made = inferred(relax.Constant(array, name))
    assert isinstance(made, relax.Constant)
    return made


def array_of(tensor: Any) -> NDArray[Any]:
    """Return a tensor of the model as an array; E1002 if its data do not fit its shape."""
    numpy_helper = library().numpy_helper
    dtype_name(tensor.data_type)
    try:
        return numpy_helper.to_array(tensor)
    except (ValueError, TypeError) as problem:
        raise error("E1002", f"the tensor '{tensor.name}' cannot be read: {problem}") from None
