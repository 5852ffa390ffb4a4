"""NVIDIA's assembler, if it is installed: it translates PTX to machine code and reports the resources of
kernels.

It is part of the CUDA toolkit and of the wheel `nvidia-cuda-nvcc`. It is optional, since drivers assemble
PTX themselves.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from msgspec import Struct

from ...ir.files import write_whole

_SECONDS = 120
_WARNINGS = ("warning", "Performance Loss")


class Usage(Struct, frozen=True):
    """The resources of a kernel: registers per thread, shared memory per block, and stack and spilled bytes per
    thread.
    """

    registers: int
    shared_bytes: int = 0
    stack_bytes: int = 0
    spill_bytes: int = 0


class Assembled(Struct, frozen=True):
    """Machine code (a "cubin"), the resources of its kernels, and the warnings of the assembler; or, in `problem`, why there is
    none.
    """

    image: bytes
    usage: dict[str, Usage]
    problem: str = ""
    warnings: tuple[str, ...] = ()


@cache
def find_ptxas() -> str | None:
    """Return the path of the assembler, from PATH or from the wheel; None if it is not installed."""
    return shutil.which("ptxas") or next((str(path) for path in _in_wheels() if path.is_file()), None)


def _in_wheels() -> Iterator[Path]:
    spec = find_spec("nvidia")
    for folder in [] if spec is None else spec.submodule_search_locations or []:
        yield from sorted(Path(folder).glob("*/bin/ptxas"))


def assemble(ptx: str, arch: str, program: str) -> Assembled:
    """Assemble `ptx` for an architecture with the assembler `program`."""
    with tempfile.TemporaryDirectory() as folder:
        source, image = Path(folder, "kernels.ptx"), Path(folder, "kernels.cubin")
        write_whole(ptx, str(source))
        command = [program, f"-arch={arch}", "-v", "-o", str(image), str(source)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)
        except (OSError, subprocess.TimeoutExpired) as problem:
            return Assembled(b"", {}, str(problem))
        if done.returncode:
            return Assembled(b"", {}, (done.stderr or done.stdout).strip())
        warnings = [line for line in done.stderr.splitlines() if any(word in line for word in _WARNINGS)]
        return Assembled(image.read_bytes(), dict(_usages(done.stderr)), "", tuple(warnings))


def _usages(said: str) -> Iterator[tuple[str, Usage]]:
    """Yield the resources of each kernel from the output of the assembler."""
    for part in re.split(r"Compiling entry function '", said)[1:]:
        name = part.partition("'")[0]
        stack, stores = _number(r"(\d+) bytes stack frame", part), _number(r"(\d+) bytes spill stores", part)
        yield name, Usage(_number(r"Used (\d+) registers", part), _number(r"(\d+) bytes smem", part), stack, stores)


def _number(pattern: str, text: str) -> int:
    found = re.search(pattern, text)
    return int(found[1]) if found else 0
