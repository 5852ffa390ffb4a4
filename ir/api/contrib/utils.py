"""Temporary folders and programs on the search path (TVM: `tvm.contrib.utils`)."""

from __future__ import annotations

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory


class TempDirectory:
    """A folder that is removed with its files at the end of a `with`, by `remove`, or with the object."""

    def __init__(self, custom_path: str | None = None) -> None:
        """Create the folder, or use `custom_path`, which is kept."""
        self._folder = None if custom_path else TemporaryDirectory(prefix="tvms-")
        self.temp_dir = Path(custom_path or (self._folder.name if self._folder else ""))

    @property
    def path(self) -> str:
        """The path of the folder."""
        return str(self.temp_dir)

    def relpath(self, name: str) -> str:
        """Return the path of the file `name` in the folder."""
        return str(self.temp_dir / name)

    def __truediv__(self, name: str) -> Path:
        return self.temp_dir / name

    def listdir(self) -> list[str]:
        """Return the names of the files in the folder."""
        return sorted(path.name for path in self.temp_dir.iterdir())

    def remove(self) -> None:
        """Remove the folder and its files."""
        if self._folder is not None:
            self._folder.cleanup()

    def __enter__(self) -> TempDirectory:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()


def tempdir(custom_path: str | None = None) -> TempDirectory:
    """Return a new temporary folder."""
    return TempDirectory(custom_path)


def which(exec_name: str) -> str | None:
    """Return the path of a program on the search path, or None."""
    return shutil.which(exec_name)
