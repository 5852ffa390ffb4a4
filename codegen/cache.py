"""A cache of compiled modules.

The name of an entry is the SHA-256 of everything that determines the result: the program as it is given to the compiler, with its
positions, sources and constants (`ir.packed`), the context of passes, the settings, the target, the machine, the source files of
tvms, and the version of LLVM. An entry holds the module after the passes on graphs, so that these do not run again. It is signed
with the user's secret for its name (`secret`), so that no other bytes can replace it. An entry that does not verify, is a link,
belongs to another user or is writable by others is not used: the module is compiled again, and `notes` says why.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cache as once
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from msgspec import Struct

from ..ir.base import IRModule
from ..ir.diagnostics import ArgumentError, Diagnostic, TvmsError
from ..ir.files import memory_limit, read_file, release_pages, write_whole
from ..ir.numpy_dtype import numpy_dtype
from ..ir.packed import UnpackableError
from ..ir.packed import pack as pack_program
from ..ir.packed import unpack as unpack_program
from ..ir.passes.instrument import PassInstrument
from ..ir.passes.transform import PassContext
from .artifact import FORMAT, Manifest, machine_of, pack, unpack, version
from .build import Built, Settings
from .llvm.api import binding
from .secret import check_secret, secret_folder
from .target import Target

ENVIRONMENT = "TVMS_CACHE_DIR"
"""The environment variable that names the default folder; without it and without a folder, there is no
cache.
"""
_WRITABLE = 0o022
"""The permissions that an entry must not give to others."""


class Key(Struct, frozen=True):
    """The name of an entry, and the arrays of the program, which the entry refers to."""

    name: str
    arrays: Sequence[Any] = ()


class Entry(Struct, frozen=True):
    """A compiled module: the module after the passes on graphs, and what was made of it."""

    module: IRModule
    manifest: Manifest
    image: bytes


class Cache:
    """The entries in one folder; `notes` says which of them were not used, and why."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        self.notes: list[Diagnostic] = []

    def key(self, module: IRModule, target: Target, settings: Settings) -> Key | None:
        """Return the key of a module that is to be compiled; None if its result must not be kept: an instrument may skip
        passes, or the program holds values of unknown types.
        """
        context = PassContext.current()
        if any(type(instrument).should_run is not PassInstrument.should_run for instrument in context.instruments):
            return None
        try:
            program, arrays = pack_program(module)
        except UnpackableError:
            return None
        passes = context.opt_level, sorted(context.required_pass), sorted(context.disabled_pass), repr(context.config)
        machine = machine_of(target), msgspec.structs.astuple(target.processor)
        parts = (passes, settings, target.text, machine, version(), _source_files(), binding.llvm_version_info, FORMAT)
        digest = hashlib.sha256(msgspec.json.encode(parts))
        digest.update(program)
        for array in arrays:
            digest.update(repr((str(array.dtype), array.shape)).encode())
            digest.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
            release_pages(array)
        return Key(digest.hexdigest(), arrays)

    def find(self, key: Key) -> Entry | None:
        """Return the entry of that name; None if there is none that can be trusted."""
        path, purpose = self._path(key), _purpose(key)
        try:
            contents = unpack(read_file(path, memory_limit(), others=_WRITABLE), str(path), purpose)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as problem:
            return self._unused(path, "it is a symbolic link" if path.is_symlink() else problem.strerror)
        except TvmsError:
            return self._unused(path, "it is damaged")
        if not contents.is_signed:
            return self._unused(path, "it is not signed by this user for this program")
        return Entry(_unpacked(contents.tensors, key.arrays), contents.manifest, contents.image)

    def _unused(self, path: Path, reason: str | None) -> None:
        message = f"the cache entry '{path}' is not used: {reason}"
        self.notes.append(Diagnostic("E0618", message, None, "the program was compiled again", severity="warning"))

    def keep(self, key: Key, lowered: IRModule, built: Built, image: bytes, target: Target, settings: Settings) -> None:
        """Write an entry if possible; concurrent writers of the same entry write the same contents. `lowered` is the module before
        its constants are packed, most of which are those of the program.
        """
        path = self._path(key)
        try:
            check_secret()
        except OSError as problem:
            message = f"cannot sign entries of the cache '{self.folder}': {problem.strerror}"
            self.notes.append(
                Diagnostic("E0618", message, None, f"check the folder '{secret_folder()}'", severity="warning")
            )
            return
        with suppress(OSError, TvmsError, UnpackableError):
            program = "", _packed(lowered, key.arrays)
            path.parent.mkdir(0o700, parents=True, exist_ok=True)
            if path.is_symlink():
                path.unlink()
            write_whole(pack(built, image, target, settings, program, _purpose(key)), str(path), mode=0o600)

    def _path(self, key: Key) -> Path:
        return self.folder / key.name[:2] / f"{key.name[2:]}.tvmsc"


def _purpose(key: Key) -> str:
    return f"cache entry {key.name}"


class _Array(Struct, frozen=True):
    """An array that the passes on graphs have computed."""

    dtype: str
    shape: tuple[int, ...]
    data: bytes


_Saved = tuple[bytes, tuple[int | _Array, ...]]
"""A packed program, and its arrays: those of the program before the passes are its positions there."""


def _packed(module: IRModule, given: Sequence[Any]) -> bytes:
    program, arrays = pack_program(module)
    positions = {id(array): position for position, array in enumerate(given)}
    saved = [positions.get(id(array)) for array in arrays]
    made = [
        _Array(str(array.dtype), array.shape, array.tobytes()) if position is None else position
        for array, position in zip(arrays, saved, strict=True)
    ]
    return msgspec.msgpack.encode((program, made))


def _unpacked(data: bytes, given: Sequence[Any]) -> IRModule:
    program, saved = msgspec.msgpack.decode(data, type=_Saved)
    arrays = [
        np.frombuffer(array.data, numpy_dtype(array.dtype)).reshape(array.shape)
        if isinstance(array, _Array)
        else given[array]
        for array in saved
    ]
    return unpack_program(program, arrays)


@once
def _source_files() -> str:
    """Return a digest of the names, sizes and times of the source files that code depends on."""
    rooms = [Path(__file__).parent, Path(__file__).parent.parent / "ir"]
    return hashlib.sha256(repr(sorted(found for room in rooms for found in _files_in(str(room)))).encode()).hexdigest()


def _files_in(folder: str) -> Iterator[tuple[str, int, int]]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir():
                yield from _files_in(entry.path)
            elif entry.name.endswith(".py"):
                status = entry.stat()
                yield entry.path, status.st_size, status.st_mtime_ns


def find_cache(folder: str | os.PathLike[str] | None) -> Cache | None:
    """Return the cache in `folder`, or in the folder that the environment names; ArgumentError E0702 if it is
    not a path.
    """
    if not isinstance(folder, str | os.PathLike | None):  # type: ignore[reportUnnecessaryIsInstance]  # callers are not all checked
        message = f"option 'cache' must be a path, not {folder!r}"
        raise ArgumentError(Diagnostic("E0702", message, None, "name a folder"))
    chosen = folder or os.environ.get(ENVIRONMENT)
    return Cache(chosen) if chosen else None
