"""Large tensors beside a text: `model.tvms` names them, and `model.safetensors` holds them."""

from __future__ import annotations

import errno
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from ..ir import relax
from ..ir.base import BaseFunc, IRModule, Metadata
from ..ir.diagnostics import TvmsError, error
from ..ir.files import memory_limit, read_file, write_together
from ..ir.infer import infer_struct_info
from ..ir.visit import rewrite, walk
from .printer import script_with_constants

if TYPE_CHECKING:
    from numpy.typing import NDArray

_DTYPES = {
    "BOOL": "bool", "U8": "uint8", "I8": "int8", "U16": "uint16", "I16": "int16", "U32": "uint32", "I32": "int32",
    "U64": "uint64", "I64": "int64", "F16": "float16", "BF16": "bfloat16", "F32": "float32", "F64": "float64",
    "F8_E4M3": "float8_e4m3fn", "F8_E5M2": "float8_e5m2",
}  # fmt: skip
"""The dtypes of safetensors."""


def sidecar_of(path: Path) -> Path:
    """Return the path of the sidecar file of the text at `path`."""
    return path.with_suffix(".safetensors")


def save_module(node: IRModule | BaseFunc, path: str, dialect: str = "tvms", below: str | None = None) -> None:
    """Write the text of `node` to `path`, and the tensors that it only names, if any, to the sidecar file.

    With `below`, `path` is relative to that folder (`ir.files`). Raise E0802 if a file cannot be written.
    """
    text, tensors = dump(node, dialect)
    beside: list[tuple[str | bytes, str]] = [(tensors, str(sidecar_of(Path(path))))] if tensors else []
    write_together([*beside, (text + "\n", path)], below=below)


def dump(node: IRModule | BaseFunc, dialect: str = "tvms") -> tuple[str, bytes]:
    """Return the text of `node`, and the contents of a sidecar file with the tensors that it only names, or b""."""
    text, constants = script_with_constants(node, dialect)
    return text, _serialized(constants) if constants else b""


def _serialized(constants: Mapping[str, relax.Constant]) -> bytes:
    import numpy as np
    from safetensors.numpy import save

    given = {name: constant.data for name, constant in constants.items() if not isinstance(constant.data, Metadata)}
    return save({name: np.ascontiguousarray(array).reshape(array.shape) for name, array in given.items()})


def read_constants(path: Path) -> dict[str, NDArray[Any]]:
    """Return the tensors of a sidecar file by name; raise E0018 if it is unreadable, or a link out of its folder."""
    try:
        _check_stays(path)
        data = read_file(path, memory_limit())
    except OSError as problem:
        raise _unreadable(str(path), problem.strerror or str(problem)) from None
    return tensors_in(data, str(path))


def _check_stays(path: Path) -> None:
    """Raise OSError if `path` is a link to a file that is not below its folder."""
    folder = path.parent.resolve()
    if not path.resolve().is_relative_to(folder):
        raise OSError(errno.EINVAL, f"it is a symbolic link that leaves the folder '{folder}'")


def tensors_in(data: bytes, path: str) -> dict[str, NDArray[Any]]:
    """Return the tensors in `data`, the contents of the file at `path`, by name; raise E0018 if it is invalid."""
    import numpy as np
    import safetensors

    from ..ir.numpy_dtype import numpy_dtype

    library: Any = safetensors
    try:
        entries = library.deserialize(data)
        dtypes = [numpy_dtype(_DTYPES[entry["dtype"]]) for _, entry in entries]
    except (KeyError, library.SafetensorError) as problem:
        raise _unreadable(path, problem) from None
    parts = zip(entries, dtypes, strict=True)
    try:
        return {name: np.frombuffer(entry["data"], dtype).reshape(entry["shape"]) for (name, entry), dtype in parts}
    except ValueError as problem:  # more dimensions than NumPy supports
        raise _unreadable(path, problem) from None


def _unreadable(path: str, reason: object) -> TvmsError:
    return error("E0018", f"'{path}' cannot be read: {reason}", help="is it a safetensors file?")


def with_constants(module: IRModule, arrays: Mapping[str, NDArray[Any]]) -> IRModule:
    """Return `module` with the tensors that it names replaced by those in `arrays`; missing ones stay names.

    Raise E0326 if a tensor does not have the shape or the dtype in the text.
    """

    def fill(node: Any) -> relax.Constant | None:
        if not isinstance(node, relax.Constant) or not isinstance(node.data, Metadata):
            return None
        name = node.name or node.data.name
        return _filled(node, name, arrays[name]) if name in arrays else None

    return rewrite(module, fill)


def _filled(node: relax.Constant, name: str, array: NDArray[Any]) -> relax.Constant:
    from ..ir.building.call_te import is_known
    from ..ir.equal import structural_equal

    info = infer_struct_info(relax.Constant(array))
    said = node.struct_info
    if said is not None and is_known(said) and not structural_equal(said, info):
        both = f"{array.dtype} of shape {tuple(array.shape)}, but the text says {said}"
        raise error("E0326", f"the tensor '{name}' is {both}", node.span, "save the text and its tensors together")
    return replace(node, data=array, struct_info=info)


def names_tensors(module: IRModule) -> bool:
    """Return whether a graph function or an attribute of the module names a tensor without holding it."""
    graphs = {name: function for name, function in module.functions.items() if isinstance(function, relax.Function)}
    nodes = walk(replace(module, functions=graphs))
    return any(isinstance(node, relax.Constant) and isinstance(node.data, Metadata) for node in nodes)
