"""Large tensors beside a text: `model.tvms` names them, and `model.safetensors` holds them."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Mapping
from math import prod
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from ..ir import relax
from ..ir.base import BaseFunc, IRModule, Metadata
from ..ir.diagnostics import TvmsError, error
from ..ir.files import memory_limit, opened_file, write_together
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
_ALIGNMENT = 64
"""Alignment of tensors in memory, in bytes: a cache line, and the widest vector."""


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


def read_constants(path: Path, is_mapped: bool = False) -> dict[str, NDArray[Any]]:
    """Return the tensors of a sidecar file by name; raise E0018 if it is unreadable, or a link out of its folder.

    Each tensor is read into memory of its own, so that no other copy exists, and memory of unused tensors is freed. With
    `is_mapped`, tensors are views of the mapped file instead, whose pages are read when they are needed.
    """
    try:
        _check_stays(path)
        with opened_file(path, memory_limit()) as (descriptor, size):
            if is_mapped and size:
                return tensors_in(mmap(descriptor, size, access=ACCESS_READ), str(path))
            return _read_tensors(lambda count: _read_array(descriptor, count), size, str(path))
    except OSError as problem:
        raise _unreadable(str(path), problem.strerror or str(problem)) from None


def _read_array(descriptor: int, count: int) -> NDArray[Any]:
    """Read bytes into an array that starts at a multiple of a cache line; fewer than `count` at the end of the file."""
    import numpy as np

    memory = np.empty(count + _ALIGNMENT, "uint8")
    start = -memory.ctypes.data % _ALIGNMENT
    array, done = memory[start : start + count], 0
    while done < count and (more := os.readv(descriptor, [array.data[done:]])):
        done += more
    return array[:done]


def _check_stays(path: Path) -> None:
    """Raise OSError if `path` is a link to a file that is not below its folder."""
    folder = path.parent.resolve()
    if not path.resolve().is_relative_to(folder):
        raise OSError(errno.EINVAL, f"it is a symbolic link that leaves the folder '{folder}'")


def tensors_in(data: bytes | mmap, path: str) -> dict[str, NDArray[Any]]:
    """Return the tensors in `data`, the contents of the file at `path`, by name, as views of it where they are aligned; raise
    E0018 if it is invalid.
    """
    view, done = memoryview(data), 0

    def take(count: int) -> memoryview:
        nonlocal done
        done += count
        return view[done - count : done]

    return _read_tensors(take, len(data), path)


class _Entry(Struct, frozen=True):
    """A tensor in the header of a file: its dtype as safetensors spells it, and the offsets of its bytes after the header."""

    dtype: str
    shape: tuple[Annotated[int, Meta(ge=0)], ...]
    data_offsets: tuple[int, int]


def _read_tensors(take: Callable[[int], Any], size: int, path: str) -> dict[str, NDArray[Any]]:
    """Return the tensors of a file of `size` bytes, from beginning to end; `take` returns its next bytes. E0018 if it is invalid.

    The format: the length of the header (8 bytes, little-endian), the header in JSON, and the tensors without gaps.
    """
    import numpy as np

    from ..ir.numpy_dtype import numpy_dtype

    arrays: dict[str, NDArray[Any]] = {}
    try:
        length = int.from_bytes(take(8), "little")
        end = size - 8 - length
        if end < 0:
            raise ValueError("the header is longer than the file")
        entries = _entries(bytes(take(length)))
        for name, entry in entries.items():
            begin, after = entry.data_offsets
            dtype = numpy_dtype(_DTYPES[entry.dtype])
            if after - begin != prod(entry.shape) * dtype.itemsize:
                raise ValueError(f"the size of '{name}' does not fit its shape")
        places = sorted(entry.data_offsets for entry in entries.values())
        if [0, *[after for _, after in places]] != [*[begin for begin, _ in places], end]:
            raise ValueError("the tensors do not fill the file without gaps")
        for name, entry in sorted(entries.items(), key=lambda item: item[1].data_offsets):
            begin, after = entry.data_offsets
            array = np.frombuffer(take(after - begin), numpy_dtype(_DTYPES[entry.dtype]))
            arrays[name] = (array if array.flags.aligned else array.copy()).reshape(entry.shape)
    except (KeyError, ValueError, RecursionError) as problem:  # including more dimensions than NumPy supports
        raise _unreadable(path, problem) from None
    return arrays


def _entries(header: bytes) -> dict[str, _Entry]:
    """Return the tensors in a header; ValueError if it is invalid."""
    fields = msgspec.json.decode(header, type=dict[str, msgspec.Raw])
    fields.pop("__metadata__", None)
    return {name: msgspec.json.decode(field, type=_Entry) for name, field in fields.items()}


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
