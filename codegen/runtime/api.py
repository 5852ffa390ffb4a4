"""The public names of the runtime, as in TVM (TVM: `tvm.runtime`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from ...ir.api.access_path import ObjectPath
from ...ir.te.expr import const
from ..device import Device, cpu, cuda, device
from ..profiling import report as profiling
from ..profiling.report import Report
from . import ndarray
from .data_type import DataType, DataTypeCode
from .executable import Executable, load_module
from .executable import Executable as Module
from .ndarray import NDArray, empty, from_dlpack
from .ndarray import NDArray as Tensor
from .ndarray import array as tensor
from .params import load_param_dict, load_param_dict_from_file, save_param_dict, save_param_dict_to_file
from .threads import thread_count as num_threads

Object = object
"""Values of the runtime are Python objects."""
PackedFunc = Callable[..., Any]
"""Functions of the runtime are Python callables."""
ShapeTuple = tuple
Shape = tuple
"""Shapes are plain tuples of integers; `Shape` is the name in TVM 0.27."""
String = str
"""Strings are plain strings."""

__all__ = [
    "DataType", "DataTypeCode", "Device", "Executable", "Module", "NDArray", "Object", "ObjectPath", "PackedFunc", "PrinterConfig", "Report", "Shape", "ShapeTuple", "String",
    "Tensor", "const", "convert", "cpu", "cuda", "device", "empty", "enabled", "from_dlpack", "load_module", "load_param_dict",
    "load_param_dict_from_file", "ndarray", "num_threads", "profiling", "save_param_dict", "save_param_dict_to_file", "tensor",
]  # fmt: skip


class PrinterConfig:
    """Options of printing, by keyword, as for `script` (TVM: `tvm.runtime.script_printer.PrinterConfig`)."""

    def __init__(self, **options: Any) -> None:
        self.options = options


def _script(obj: Any, config: PrinterConfig) -> str:  # type: ignore[reportUnusedFunction]
    """Return a node as TVM 0.27 prints it. Raise TypeError for options that `script` does not have."""
    return obj.script(dialect="tvm-0.27", **config.options)


def enabled(target: str) -> bool:
    """Return whether this process can run programs for `target`, such as "llvm" or "cuda" (TVM: `tvm.runtime.enabled`)."""
    try:
        return device(target).exist
    except Exception:  # an unknown kind of device
        return False


def convert(value: Any) -> Any:
    """Return `value` as functions of compiled programs take it: lists become tuples (TVM: `tvm.runtime.convert`)."""
    return tuple(map(convert, cast("Sequence[Any]", value))) if isinstance(value, list | tuple) else value
