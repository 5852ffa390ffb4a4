"""Writing files: whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from .diagnostics import error


def write_whole(data: str | bytes, path: str) -> None:
    """Write to the file `path`, in the place of one that is there; E0802 where that cannot be, and all stays as it was."""
    payload = data.encode() if isinstance(data, str) else data
    target = Path(os.path.realpath(path))  # a link stays a link
    try:
        with tempfile.NamedTemporaryFile(dir=target.parent, prefix=f".{target.name}.", delete=False) as file:
            temporary = Path(file.name)
            try:
                file.write(payload)
                file.flush()
                temporary.chmod(_mode(target))
                temporary.replace(target)
            except OSError:
                temporary.unlink(missing_ok=True)
                raise
    except OSError as problem:
        raise error(
            "E0802", f"cannot write '{path}': {problem.strerror}", help="give a path you may write to"
        ) from None


def _mode(path: Path) -> int:
    """Return the permissions of the file at `path`, or those that a new file would get."""
    try:
        return path.stat().st_mode & 0o7777
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask
