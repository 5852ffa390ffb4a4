"""Compiled modules that were compiled before, by what they were compiled from.

The name of an entry is the SHA-256 of all that decides what is compiled: the program's text and the texts it was read
from, the settings, the machine, and the versions of tvms and LLVM. Entries appear whole or not at all; a damaged one is
compiled again; where one cannot be written, nothing is kept.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from pathlib import Path

import msgspec

from ..ir.base import IRModule, Source
from ..ir.diagnostics import TvmsError
from ..ir.files import write_whole
from ..ir.visit import walk
from .artifact import FORMAT, Manifest, machine_of, unpack, version
from .build import Settings
from .llvm.api import binding
from .target import Target

ENVIRONMENT = "TVMS_CACHE_DIR"
"""The variable that says where entries are kept; without it, and where no folder is given, none are."""


class Cache:
    """The entries below one folder."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)

    def key(self, module: IRModule, target: Target, settings: Settings) -> str:
        """Return the name of the entry of a prepared module."""
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
        """Return the entry of that name, None where there is none that is whole."""
        try:
            manifest, _, _, image = unpack(self._path(key).read_bytes(), key)
        except (OSError, TvmsError):
            return None
        return manifest, image

    def keep(self, key: str, data: bytes) -> None:
        """Keep an entry, if it can be written; another process that writes it too writes the same."""
        path = self._path(key)
        with contextlib.suppress(OSError, TvmsError):
            path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(data, str(path))

    def _path(self, key: str) -> Path:
        return self.folder / key[:2] / f"{key[2:]}.tvmsc"


def find_cache(folder: str | os.PathLike[str] | None) -> Cache | None:
    """Return the cache in `folder`, or in the one that the environment names."""
    chosen = folder or os.environ.get(ENVIRONMENT)
    return Cache(chosen) if chosen else None


def _sources(module: IRModule) -> set[Source]:
    functions = module.functions.values()
    spans = (node.span for function in functions for node in walk(function) if node.span is not None)
    return {span.source for span in spans}
