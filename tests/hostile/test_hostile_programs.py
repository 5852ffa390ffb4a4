"""No text makes a command crash, hang, or write what a terminal obeys; each error has a code.

`check` runs on every text, every other command on a sample of them, which is the same each time. With TVMS_FUZZ every
command runs on every text, and every intrinsic gets arguments of every kind.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import select
import subprocess
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from zlib import crc32

import pytest
from tvms.ir.ops.tir_builtin import ROWS as BUILTIN
from tvms.ir.ops.tir_device import ROWS as DEVICE
from tvms.ir.ops.tir_math import ROWS as MATH

HERE = Path(__file__).parent
_spec = importlib.util.spec_from_file_location("hostile_texts", HERE / "texts.py")
assert _spec is not None
assert _spec.loader is not None
hostile_texts = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(hostile_texts)

IS_FULL = "TVMS_FUZZ" in os.environ
SECONDS = 180
"""After which a command hangs, on a machine that has other things to do."""
SAMPLE = 20
"""One in so many texts is given to a command, other than `check`."""

READING = (
    ("check", "--level", "races", "--strict"),
    ("print",),
    ("print", "--dialect", "tvm-0.21"),
    ("print", "--dialect", "tvm-0.27"),
    ("fmt", "--diff"),
)
"""Commands that run on all texts."""

CHANGING = (
    ("convert", "--to", "tvm-0.21"),
    ("opt", "--passes", "LegalizeOps, FuseOps, FuseTIR, DeadCodeElimination"),
    ("opt", "--passes", "ApplyDefaultSchedule, LowerInitBlock, ConvertBlocksToOpaque, Simplify"),
    ("schedule",),
    ("view", "-o", "OUT.svg"),
    ("compile", "--emit", "tir"),
    ("compile", "--emit", "llvm"),
    ("compile", "--emit", "asm", "-O", "0"),
    ("reduce", "--passes", "Normalize", "--tries", "3"),
)
"""Commands that change programs, and compile them."""

RUNNING = (
    ("run", "--interpret"),
    ("run", "--verify"),
    ("bench", "--seconds", "0.01"),
)
"""Commands that run on the programs that `check` accepts and that end and do no harm by themselves."""

KINDS = ("0", "'x'", "A.data", "T.float32(1.5)", "B[0]", "T.Broadcast(A[0], 4)", "T.bool(True)", "A")
"""Arguments of every kind."""


class Worker:
    """A process that runs commands, and is replaced where one kills it."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[str] | None = None

    def run(self, arguments: list[str]) -> tuple[int | str, str]:
        """Return the exit code and what was written, or what became of the process."""
        if self.process is None:
            self.process = subprocess.Popen(
                [sys.executable, str(HERE / "worker.py")],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                env=os.environ | {"NO_COLOR": "1", "TERM": "dumb"},
            )  # fmt: skip
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(arguments) + "\n")
        self.process.stdin.flush()
        if not select.select([self.process.stdout], [], [], SECONDS)[0]:
            self.stop()
            return f"more than {SECONDS} s", ""
        if line := self.process.stdout.readline():
            code, output = json.loads(line)
            return code, output
        code = self.process.wait()
        self.stop()
        return f"the process died: {code}", ""

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.communicate()
            self.process = None


def complaints(code: int | str, output: str) -> Iterator[str]:
    """Say what is wrong with what a command wrote and returned."""
    if code not in (0, 1, 2):
        yield f"exit code {code}"
    if "Traceback (most recent" in output or "internal error" in output:
        yield "an internal error"
    if re.search(r"^error(?!\[E\d{4}\])", output, re.M) or (code in (1, 2) and not output.strip()):
        yield "an error without a code"
    if found := re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", output.replace("\r", "")):
        yield f"a raw {found[0]!r}"


def check_text(worker: Worker, title: str, text: str, folder: Path) -> Iterator[str]:
    path = folder / "hostile.tvms"
    path.write_text(text, encoding="utf-8")
    is_valid = False
    for command in (*READING, *RUNNING, *CHANGING):
        if not IS_FULL and command[0] != "check" and crc32(f"{title} {command}".encode()) % SAMPLE:
            continue
        if command in RUNNING and not (is_valid and is_harmless(text)):
            continue
        code, output = worker.run([part.replace("OUT", str(folder / "out")) for part in command] + [str(path)])
        is_valid |= command[0] == "check" and code == 0
        for complaint in complaints(code, output):
            yield f"{complaint}: tvms {' '.join(command)}\n  of {title}\n  {output.strip()[-300:]}"


def is_harmless(text: str) -> bool:
    """Whether a program may be run: it ends, and calls nothing of this process."""
    return not re.search(r"while |extern|packed|llvm|T\.reinterpret|10\*\*|# endless", text)


def intrinsic_texts() -> list[tuple[str, str]]:
    """Return calls of each intrinsic with too few, enough and too many arguments, of the same kind and of mixed ones."""
    texts: dict[str, str] = {}
    for row in (*MATH, *BUILTIN, *DEVICE):
        least = row.arity[0]
        for n, first in product({max(0, least - 1), least, least + 1}, range(len(KINDS))):
            step = crc32(f"{row.script}{n}{first}".encode()) % 3
            given = ", ".join([KINDS[(first + i * step) % len(KINDS)] for i in range(n)])
            dtype = {"first": f"'float32'{', ' if n else ''}{given}", "last": f"{given}, dtype='int32'"}
            call = f"T.{row.script}({dtype.get(row.dtype_location, given)})"
            for statement in (f"T.evaluate({call})", f"A[0] = {call}", f"B[0] = {call}"):
                texts[statement] = f"{hostile_texts.FUNCTION}    {statement}\n"
    return list(texts.items())


def check_all(texts: list[tuple[str, str]], folder: Path) -> None:
    worker, found = Worker(), []
    try:
        for title, text in texts:
            found += check_text(worker, title, text, folder)
    finally:
        worker.stop()
    assert not found, f"{len(found)} complaints\n" + "\n".join(found)


TEXTS = list(hostile_texts.read_texts().items())


def test_there_are_enough() -> None:
    assert len(TEXTS) >= 300


@pytest.mark.parametrize("part", range(4))
def test_hostile_programs(part: int, tmp_path: Path) -> None:
    check_all(TEXTS[part::4], tmp_path)


def test_hostile_arguments_of_intrinsics(tmp_path: Path) -> None:
    texts = intrinsic_texts()
    chosen = texts if IS_FULL else [text for text in texts if crc32(text[0].encode()) % 60 == 0]
    check_all(chosen, tmp_path)
