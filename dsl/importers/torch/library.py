"""The module torch, imported on first use, and conversion of its tensors and dtypes."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from ....ir import relax
from ....ir.diagnostics import error
from ....ir.dtype import is_dtype
from ....ir.infer import infer_struct_info

if TYPE_CHECKING:
    from numpy.typing import NDArray

_WITHOUT_NUMPY = ("bfloat16", "float8_e4m3fn", "float8_e5m2")
"""Dtypes that NumPy supports only through ml_dtypes."""


def library() -> Any:
    """Return the module `torch`; E0812 if it is not installed."""
    if find_spec("torch") is None:
        raise error("E0812", "importing a PyTorch model needs PyTorch", None, "pip install 'tvms-lang[torch]'")
    return import_module("torch")


def check_kind(value: Any, kind: type, help: str) -> None:
    """Raise E0702 unless a model has the type that an importer expects."""
    if not isinstance(value, kind):
        raise error("E0702", f"the model is of type {type(value).__name__}, not {kind.__name__}", None, help)


def dtype_name(dtype: Any) -> str:
    """Return the name of a torch dtype; E1005 if programs do not support it."""
    name = str(dtype).removeprefix("torch.")
    if not is_dtype(name):
        raise error("E1005", f"the model has tensors of dtype '{name}'", None, "convert them before the export")
    return name


def array_of(tensor: Any) -> NDArray[Any]:
    """Return a torch tensor as a NumPy array, without a copy if it is contiguous.

    Raises E1005 if the tensor is sparse or quantized, or if programs do not support its dtype.
    """
    import numpy as np

    from ....ir.numpy_dtype import numpy_dtype

    torch = library()
    if tensor.layout != torch.strided or tensor.is_quantized:
        raise error("E1005", "the model has a tensor that is sparse or quantized", None, "store it densely")
    dtype = dtype_name(tensor.dtype)
    plain = tensor.detach().cpu().contiguous().resolve_conj().resolve_neg()
    if dtype in _WITHOUT_NUMPY:
        bits = torch.int16 if plain.element_size() == 2 else torch.uint8
        return plain.view(bits).numpy().view(numpy_dtype(dtype))
    return np.asarray(plain.numpy())


def constant_of(tensor: Any, name: str | None) -> relax.Constant:
    """Return a torch tensor as a constant with the name `name` in the sidecar."""
    array = array_of(tensor).view(import_module("tvms").nd.NDArray)
    made = relax.Constant(array, name)
    return relax.Constant(made.data, name, struct_info=infer_struct_info(made))
