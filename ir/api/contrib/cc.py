"""The C++ compiler of the system (TVM: `tvm.contrib.cc`)."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence

from .utils import which

_NAMES = ("g++", "gcc", "clang++", "clang", "c++", "cc")


def get_cc() -> str | None:
    """Return the compiler: the variable CXX or CC, or the first of the usual names on the search path; None if there is none."""
    given = os.environ.get("CXX") or os.environ.get("CC")
    return given or next((path for name in _NAMES if (path := which(name))), None)


def create_shared(
    output: str, objects: str | Sequence[str], options: Sequence[str] = (), cc: str | None = None
) -> None:
    """Link object files or compile sources to a shared library; RuntimeError with the output of the compiler if that fails."""
    _run([_compiler(cc), "-shared", "-fPIC", "-o", output, *_files(objects), *options])


def create_executable(
    output: str, objects: str | Sequence[str], options: Sequence[str] = (), cc: str | None = None
) -> None:
    """Link object files or compile sources to a program; RuntimeError with the output of the compiler if that fails."""
    _run([_compiler(cc), "-o", output, *_files(objects), *options])


def create_staticlib(output: str, inputs: str | Sequence[str], ar: str = "ar") -> None:
    """Collect object files in a static library; RuntimeError with the output of `ar` if that fails."""
    _run([ar, "-crs", output, *_files(inputs)])


def _files(given: str | Sequence[str]) -> list[str]:
    return [given] if isinstance(given, str) else list(given)


def _compiler(given: str | None) -> str:
    found = given or get_cc()
    if found is None:
        raise RuntimeError("there is no C++ compiler; install one, or name it in the variable CXX")
    return found


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"'{' '.join(command)}' failed:\n{done.stdout}{done.stderr}")
