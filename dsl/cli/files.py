"""The files that subcommands read and write."""

from __future__ import annotations

import difflib
import os
import sys
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING

from ...ir.diagnostics import Diagnostic, count, error
from ...ir.files import write_whole
from ...ir.sanitize import write_program
from .reporting import UsageError, report

if TYPE_CHECKING:
    from ...ir.base import IRModule, Source


STANDARD_OUTPUT = (None, "-")
"""Paths of outputs that are not files."""


def find_files(paths: list[str], patterns: tuple[str, ...] = ("*.tvms",)) -> list[str]:
    """Return the files at `paths`; a folder contributes all files below it that match a pattern."""
    if paths.count("-") > 1:
        raise UsageError("'-' is given twice", help="name standard input only once")
    files: list[str] = []
    for path in paths:
        if path == "-" or not os.path.isdir(path):
            files.append(path)
            continue
        below = sorted(str(file) for file in _below(path) if any(fnmatch(file.name, pattern) for pattern in patterns))
        if not below:
            wanted = " or ".join(pattern.removeprefix("*") for pattern in patterns)
            raise error(
                "E0803", f"the folder '{path}' contains no {wanted} file", help="name a file, or another folder"
            )
        files.extend(below)
    return files


def _below(folder: str) -> Iterator[Path]:
    """Yield the files below a folder, without those in hidden folders and in virtual environments."""
    for parent, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".") and not _is_environment(Path(parent, name))]
        yield from (Path(parent, name) for name in files if Path(parent, name).is_file())


def _is_environment(folder: Path) -> bool:
    return folder.name == "__pycache__" or (folder / "pyvenv.cfg").exists()


def write_output(data: str | bytes, path: str | None, below: str | None = None) -> None:
    """Write to the file `path` (`ir.files.write_whole`), or to standard output (None, or "-")."""
    if path not in STANDARD_OUTPUT:
        write_whole(data, path, below=below)
    elif isinstance(data, str):
        write_program(data)
    elif hasattr(sys.stdout, "buffer"):
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
    else:
        raise UsageError("standard output takes text only: name a file with -o")


def write_module(module: IRModule, dialect: str, path: str | None, below: str | None = None) -> None:
    """Write a module and its large tensors; warn of schedules, which only our own dialect supports."""
    if dialect != "tvms":
        left_out = [
            Diagnostic(
                "E0816", f"schedule '{name}' is omitted: {dialect} has no syntax for schedules", severity="warning"
            )
            for name in module.schedules
        ]
        if left_out:
            report(left_out)
    if path not in STANDARD_OUTPUT:
        from ..sidecar import save_module

        save_module(module, path, dialect, below)
        return
    from ..printer import script_with_constants

    text, constants = script_with_constants(module, dialect, shows_small=True)
    if constants and dialect != "tvms":
        noun = count(len(constants), "tensor")
        message = f"{noun} of the module {'is' if len(constants) == 1 else 'are'} not part of the text"
        report(
            [
                Diagnostic(
                    "E0816",
                    message,
                    help="write a file with -o: it gets a .safetensors file beside it",
                    severity="warning",
                )
            ]
        )
    write_output(text + "\n", None)


def show_difference(source: Source, changed: str, how: str) -> None:
    """Write the difference between a text and the changed one to standard output; `how` says what changed it."""
    before, after = source.text.splitlines(keepends=True), changed.splitlines(keepends=True)
    for line in difflib.unified_diff(before, after, source.name, f"{source.name} ({how})"):
        write_program(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n")
