"""Damages and forges modules and cache entries for the law `artifacts`, and loads them again."""

from __future__ import annotations

import hashlib
import tempfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...ir.base import IRModule
from ..load import parse

if TYPE_CHECKING:
    from ..testing.laws.artifacts import Damage

_TEXT = """
T.prim_func main(X: T.Buffer((4,), "float32")):
    for i in range(4):
        with T.block("b"):
            vi = T.axis.spatial(4, i)
            X[vi] = X[vi] + T.float32({})
"""
_NUMBERS = (3, 5, 7, 11)


@cache
def _program(number: int) -> IRModule:
    return parse(_TEXT.format(_NUMBERS[number]), "program.tvms")


@cache
def _temporary() -> tempfile.TemporaryDirectory[str]:
    """Return the folder of all caches, which is deleted when the process ends."""
    return tempfile.TemporaryDirectory(prefix="tvms-fuzz-")


def _folder() -> Path:
    return Path(_temporary().name)


@cache
def _original(number: int, is_cached: bool) -> tuple[bytes, Path]:
    """Return the file of a program, and the path of its cache entry."""
    from ...codegen import compile as compile_module

    folder = _folder() / str(number)
    executable = compile_module(_program(number), cache=folder, level=0)
    (path,) = folder.rglob("*.tvmsc")
    return (path.read_bytes() if is_cached else executable.to_bytes()), path


def load_damaged(damage: Damage) -> tuple[list[float], list[float]]:
    """Damage a file, load it, and call its function; return its result, and the result that its program should have."""
    from ...codegen import compile as compile_module
    from ...codegen import load_compiled

    original, path = _original(damage.program, damage.is_cached)
    other, _ = _original((damage.program + 1) % len(_NUMBERS), damage.is_cached)
    data = _damaged(damage, original, other)
    if damage.is_cached:
        path.write_bytes(data)
        executable = compile_module(_program(damage.program), cache=_folder() / str(damage.program), level=0)
        return _result(executable), [float(_NUMBERS[damage.program])] * 4
    executable = load_compiled(data, "damaged")
    return _result(executable), _interpreted(executable.module)


def _result(executable: Any) -> list[float]:
    import numpy as np

    x = np.zeros(4, "float32")
    executable["main"](x)
    return x.tolist()


def _interpreted(module: IRModule) -> list[float]:
    import numpy as np

    from ...ir.interp import run

    x = np.zeros(4, "float32")
    run(module, "main", [x])
    return x.tolist()


def _damaged(damage: Damage, data: bytes, other: bytes) -> bytes:
    if damage.part == "file":
        return _changed(damage, data, other)
    parts, theirs = _split(data), _split(other)
    parts[damage.part] = _changed(damage, parts[damage.part], theirs[damage.part])
    return _joined(parts)


def _changed(damage: Damage, data: bytes, other: bytes) -> bytes:
    place = len(data) * damage.place // 1000
    match damage.change:
        case "flip":
            return data[:place] + bytes([data[place] ^ damage.value]) + data[place + 1 :] if data else b"x"
        case "cut":
            return data[:place] + data[place + damage.value :]
        case "insert":
            return data[:place] + bytes([damage.value]) * damage.value + data[place:]
        case "garbage":
            return hashlib.shake_256(bytes([damage.value])).digest(damage.place)
        case _:
            return other


def _split(data: bytes) -> dict[str, bytes]:
    """Return the parts of a file by name."""
    from ...codegen.artifact import unpack
    from ...codegen.secret import SIZE

    contents, rest = unpack(data, "original"), data.partition(b"\n")[2]
    size = int.from_bytes(rest[SIZE + 32 : SIZE + 40], "little")
    held = {"text": contents.text.encode(), "tensors": contents.tensors, "image": contents.image}
    return {"signature": rest[:SIZE], "manifest": rest[SIZE + 40 : SIZE + 40 + size]} | held


def _joined(parts: dict[str, bytes]) -> bytes:
    """Return a file of these parts, with matching hashes if the manifest can still be read."""
    import msgspec

    from ...codegen.artifact import assemble

    names, head = ("text", "tensors", "image"), parts["manifest"]
    try:
        manifest = msgspec.json.decode(head)
        for name in names:
            manifest[name] = (len(parts[name]), hashlib.sha256(parts[name]).hexdigest())
        head = msgspec.json.encode(manifest)
    except (msgspec.MsgspecError, TypeError, ValueError):
        pass
    return assemble(parts["signature"].ljust(32, b"\0")[:32], head, [parts[name] for name in names])
