"""A cache of compiled modules.

The name of an entry is the SHA-256 of everything that determines the result: the program's text and the
texts it was read from, the settings, the target, the machine, and the versions of tvms and LLVM. An entry
is signed with the user's secret for its name (`secret`), so that no other bytes can replace it. An entry
that does not verify, is a link, belongs to another user or is writable by others is not used: the module
is compiled again, and `notes` says why.
"""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from pathlib import Path

import msgspec

from ..ir.base import IRModule, Source
from ..ir.diagnostics import ArgumentError, Diagnostic, TvmsError
from ..ir.files import memory_limit, read_file, write_whole
from ..ir.visit import walk
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


class Cache:
    """The entries in one folder; `notes` says which of them were not used, and why."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        self.notes: list[Diagnostic] = []

    def key(self, module: IRModule, target: Target, settings: Settings) -> str:
        """Return the name of the cache entry of a prepared module."""
        texts = sorted({(source.name, source.text) for source in _sources(module)})
        parts = (
            module.script(),
            texts,
            settings,
            target.text,
            machine_of(target),
            version(),
            binding.llvm_version_info,
            FORMAT,
        )
        return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()

    def find(self, key: str) -> tuple[Manifest, bytes] | None:
        """Return the entry of that name; None if there is none that can be trusted."""
        path = self._path(key)
        try:
            contents = unpack(read_file(path, memory_limit(), others=_WRITABLE), str(path), _purpose(key))
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as problem:
            return self._unused(path, "it is a symbolic link" if path.is_symlink() else problem.strerror)
        except TvmsError:
            return self._unused(path, "it is damaged")
        if not contents.is_signed:
            return self._unused(path, "it is not signed by this user for this program")
        return contents.manifest, contents.image

    def _unused(self, path: Path, reason: str | None) -> None:
        message = f"the cache entry '{path}' is not used: {reason}"
        self.notes.append(Diagnostic("E0618", message, None, "the program was compiled again", severity="warning"))

    def keep(self, key: str, built: Built, image: bytes, target: Target, settings: Settings) -> None:
        """Write an entry if possible; concurrent writers of the same entry write the same contents."""
        path = self._path(key)
        try:
            check_secret()
        except OSError as problem:
            message = f"cannot sign entries of the cache '{self.folder}': {problem.strerror}"
            self.notes.append(
                Diagnostic("E0618", message, None, f"check the folder '{secret_folder()}'", severity="warning")
            )
            return
        with suppress(OSError, TvmsError):
            path.parent.mkdir(0o700, parents=True, exist_ok=True)
            if path.is_symlink():
                path.unlink()
            write_whole(pack(built, image, target, settings, purpose=_purpose(key)), str(path), mode=0o600)

    def _path(self, key: str) -> Path:
        return self.folder / key[:2] / f"{key[2:]}.tvmsc"


def _purpose(key: str) -> str:
    return f"cache entry {key}"


def find_cache(folder: str | os.PathLike[str] | None) -> Cache | None:
    """Return the cache in `folder`, or in the folder that the environment names; ArgumentError E0702 if it is
    not a path.
    """
    if not isinstance(folder, str | os.PathLike | None):  # type: ignore[reportUnnecessaryIsInstance]  # callers are not all checked
        message = f"option 'cache' must be a path, not {folder!r}"
        raise ArgumentError(Diagnostic("E0702", message, None, "name a folder"))
    chosen = folder or os.environ.get(ENVIRONMENT)
    return Cache(chosen) if chosen else None


def _sources(module: IRModule) -> set[Source]:
    functions = module.functions.values()
    spans = (node.span for function in functions for node in walk(function) if node.span is not None)
    return {span.source for span in spans}
