"""Model files: weights are mapped to memory, from the file itself and from files beside it, and read on first use."""

from __future__ import annotations

import os
import stat
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from ....ir.diagnostics import TvmsError, error
from .library import library
from .wire import OWN_FILE, WireError, check_messages, without_weights

if TYPE_CHECKING:
    from numpy.typing import NDArray

_SMALL = 4 << 20
"""Size in bytes up to which a file is parsed without counting its messages first."""
_LARGE = 64 << 20
"""Size in bytes from which on weights stay in the file."""


class Model(Struct):
    """A model, and the files with its weights."""

    proto: Any
    folder: Path | None = None
    """The folder below which files with weights must be."""
    files: dict[str, NDArray[Any]] = {}
    """The mapped files, as bytes, by their location."""

    def bytes_of(self, tensor: Any) -> NDArray[Any]:
        """Return the bytes of a tensor that is stored in a file; E1002 if they are not in a file below the folder."""
        found = {entry.key: entry.value for entry in tensor.external_data}
        location = found.get("location", "")
        if location not in self.files:
            self.files[location] = _mapped(self._path(tensor.name, location))
        held = self.files[location]
        start = _number(tensor.name, "offset", found.get("offset") or "0")
        length = _number(tensor.name, "length", found.get("length") or str(max(held.size - start, 0)))
        if start + length > held.size:
            said = f"bytes {start} to {start + length} of '{location}', which has {held.size}"
            raise error("E1002", f"the tensor '{tensor.name}' is stored in {said}")
        return held[start : start + length]

    def _path(self, name: str, location: str) -> Path:
        """Return the path of a file with weights, which must be below the model's folder and reached without links."""
        parts = PurePosixPath(location).parts
        if self.folder is None:
            reason = f"the tensor '{name}' is stored in the file '{location}', but the model has no folder"
            raise error("E1002", reason, None, "pass the path of the model instead of its contents")
        if not parts or "\0" in location or "\\" in location or ".." in parts or PurePosixPath(location).is_absolute():
            raise _outside(name, location)
        path, mode = self.folder, 0
        for part in parts:
            path = path / part
            try:
                mode = path.lstat().st_mode
            except (OSError, ValueError) as problem:
                reason = problem.strerror if isinstance(problem, OSError) else problem
                raise error("E1002", f"the file '{location}' of the tensor '{name}' cannot be read: {reason}") from None
            if stat.S_ISLNK(mode):
                raise _outside(name, location)
        if not stat.S_ISREG(mode):
            raise error("E1002", f"'{location}' of the tensor '{name}' is not a file")
        return path


def _outside(name: str, location: str) -> TvmsError:
    reason = f"the tensor '{name}' is stored in '{location}', which is not a file below the model's folder"
    return error("E1002", reason, None, "store weights beside the model, without links, '..' and absolute paths")


def _number(name: str, key: str, text: str) -> int:
    if not text.isdecimal() or not text.isascii() or len(text) > 18:
        raise error("E1002", f"the {key} of the tensor '{name}' is {text[:30]!r}, not a number")
    return int(text)


def _mapped(path: Path) -> NDArray[Any]:
    """Return the bytes of a file as an array that is read on access."""
    import numpy as np

    try:
        with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW), "rb") as file:
            if not os.fstat(file.fileno()).st_size:
                return np.empty(0, np.uint8)
            return np.memmap(file, np.uint8, "r").view(np.ndarray)
    except OSError as problem:
        raise error("E1002", f"'{path}' cannot be read: {problem.strerror}") from None


def read_model(path: str | os.PathLike[str]) -> Model:
    """Return the model in a file; E1002 if the file cannot be read."""
    import numpy as np

    place = Path(path)
    try:
        with place.open("rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise _unreadable(path, "it is not a file")
            size = os.fstat(file.fileno()).st_size
            held = np.memmap(file, np.uint8, "r").view(np.ndarray) if size else np.empty(0, np.uint8)
    except OSError as problem:
        raise _unreadable(path, problem.strerror or problem) from None
    proto = parsed(held.data, path)
    return Model(proto, place.parent, {OWN_FILE: held})


def parsed(data: memoryview, path: str | os.PathLike[str] = "the model") -> Any:
    """Return the message in the bytes of a model; E1002 if they are not one."""
    onnx = library()
    from google.protobuf.message import DecodeError

    try:
        if len(data) > _SMALL:
            check_messages(data, onnx.ModelProto.DESCRIPTOR)
        held = without_weights(data, onnx.ModelProto, onnx.TensorProto) if len(data) > _LARGE else bytes(data)
        proto = onnx.ModelProto.FromString(held)
    except DecodeError:
        raise _unreadable(path, "it is not an ONNX model, or it is truncated") from None
    except WireError as problem:
        raise _unreadable(path, problem) from None
    if not proto.HasField("graph"):
        raise _unreadable(path, "it is not an ONNX model: it has no graph")
    return proto


def _unreadable(path: str | os.PathLike[str], reason: object) -> TvmsError:
    return error("E1002", f"'{os.fspath(path)}' cannot be read: {reason}", None, "save it again with onnx.save")
