"""Tensors and types of a model as constants and struct info."""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING, Any, cast

from ....ir import relax
from ....ir.building.values import inferred
from ....ir.diagnostics import error
from ....ir.dtype import is_dtype, parse_dtype
from ....ir.numpy_dtype import numpy_dtype
from .files import Model
from .library import library

if TYPE_CHECKING:
    from numpy.typing import NDArray


def is_text(tensor: Any) -> bool:
    """Return whether a tensor of the model has texts."""
    return tensor.data_type == library().TensorProto.STRING


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


_MOST_DIMENSIONS = 32
"""Maximum number of dimensions of a tensor."""
_LISTS = {
    "FLOAT": "float_data",
    "DOUBLE": "double_data",
    "INT64": "int64_data",
    "UINT64": "uint64_data",
    "UINT32": "uint64_data",
}
"""Fields with the elements of tensors that are not stored as bytes; elements of other dtypes are in `int32_data`."""


class Tensors:
    """The tensors of one model."""

    def __init__(self, model: Model) -> None:
        self._model = model

    def constant(self, tensor: Any) -> relax.Constant:
        """Return a tensor of the model as a constant with its name."""
        return named_constant(self.array(tensor), tensor.name or None)

    def texts(self, tensor: Any) -> NDArray[Any]:
        """Return a tensor of texts as an array of `str`; E1002 if they do not fit its shape or are not valid UTF-8."""
        import numpy as np

        count = _count(tensor)
        if len(tensor.string_data) != count:
            found = len(tensor.string_data)
            raise error("E1002", f"the tensor '{tensor.name}' has {found} elements, but its shape has {count}")
        made = np.empty(count, object)
        try:
            made[:] = [text.decode() for text in tensor.string_data]
        except UnicodeDecodeError:
            raise error("E1002", f"a text of the tensor '{tensor.name}' is not valid UTF-8") from None
        return made.reshape(tuple(tensor.dims))

    def array(self, tensor: Any) -> NDArray[Any]:
        """Return a tensor of numbers as an array, without a copy if it is in a file.

        E1002 if its data do not fit its shape, E1005 if programs do not support its dtype.
        """
        dtype, count = dtype_name(tensor.data_type), _count(tensor)
        is_external = tensor.data_location == library().TensorProto.EXTERNAL
        if tensor.HasField("segment"):
            raise error("E1002", f"the tensor '{tensor.name}' is a segment of another one")
        if is_external:
            return _from_bytes(tensor, self._model.bytes_of(tensor), dtype, count)
        return _in_message(tensor, dtype, count)


def _count(tensor: Any) -> int:
    """Return the number of elements of a tensor; E1002 if it has too many dimensions or a negative one."""
    if any(dim < 0 for dim in tensor.dims) or len(tensor.dims) > _MOST_DIMENSIONS:
        raise error("E1002", f"the tensor '{tensor.name}' has the shape {list(tensor.dims)[:_MOST_DIMENSIONS]}")
    return prod(tensor.dims)


def _in_message(tensor: Any, dtype: str, count: int) -> NDArray[Any]:
    """Return a tensor whose elements are in the message, as bytes or as a list."""
    import numpy as np

    if tensor.HasField("raw_data"):
        return _from_bytes(tensor, np.frombuffer(tensor.raw_data, np.uint8), dtype, count)
    field = _LISTS.get(library().TensorProto.DataType.Name(tensor.data_type), "int32_data")
    per_item = 8 // parse_dtype(dtype).bits if parse_dtype(dtype).bits < 8 else 1
    found, needed = len(getattr(tensor, field)), -(-count // per_item)
    if found != needed:
        raise error("E1002", f"the tensor '{tensor.name}' has {found} elements, but its shape has {count}")
    try:
        return cast("NDArray[Any]", library().numpy_helper.to_array(tensor))
    except (ValueError, TypeError, OverflowError) as problem:
        raise error("E1002", f"the tensor '{tensor.name}' cannot be read: {problem}") from None


def _from_bytes(tensor: Any, raw: NDArray[Any], dtype: str, count: int) -> NDArray[Any]:
    """Return a tensor whose elements are stored consecutively; elements of less than 8 bits share bytes."""
    import numpy as np

    bits = 8 if dtype == "bool" else parse_dtype(dtype).bits
    needed = -(-count * bits // 8)
    if raw.size != needed:
        raise error("E1002", f"the tensor '{tensor.name}' has {raw.size} bytes, but its shape needs {needed}")
    if bits < 8:
        per_byte = 8 // bits
        codes = raw[:, None] >> np.arange(0, 8, bits, dtype=np.uint8) & np.uint8((1 << bits) - 1)
        raw = _widened(codes.reshape(-1)[:count], dtype, bits) if per_byte > 1 else raw
    made = raw.view(numpy_dtype(dtype)).reshape(tuple(tensor.dims))
    return np.require(made, requirements="A")


def _widened(codes: NDArray[Any], dtype: str, bits: int) -> NDArray[Any]:
    """Return codes of less than 8 bits as bytes: signed integers with their sign, floats unchanged."""
    import numpy as np

    if dtype.startswith("int"):
        shift = np.uint8(8 - bits)
        return (codes << shift).view(np.int8) >> shift.view(np.int8)
    return codes


def named_constant(array: NDArray[Any], name: str | None) -> relax.Constant:
    """Return an array as a constant with the name `name` in the sidecar."""
    return cast("relax.Constant", inferred(relax.Constant(array, name)))
