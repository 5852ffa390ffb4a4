"""Runs `tvms` in processes of their own: checks of whole texts, and what a user asks for, such as machine code."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

from .document import Document

CHECK_SECONDS = 60.0
COMMAND_SECONDS = 600.0
COMMANDS: dict[str, tuple[str, ...]] = {
    "tvms.run": ("run", "--entry"),
    "tvms.verify": ("run", "--verify", "--entry"),
    "tvms.bench": ("bench", "--entry"),
    "tvms.schedule": ("schedule", "--apply"),
    "tvms.view": ("view", "-o", "-", "--entry"),
    "tvms.showllvm": ("compile", "--lines", "json", "--emit", "llvm"),
    "tvms.showasm": ("compile", "--lines", "json", "--emit", "asm"),
    "tvms.showtir": ("compile", "--lines", "json", "--emit", "tir"),
    "tvms.showptx": ("compile", "--lines", "json", "--target", "cuda -arch=sm_80", "--emit", "ptx"),
}
"""The arguments of the commands that clients may execute; an option at the end takes the name of a definition."""


class Output(NamedTuple):
    """What a command printed.

    `lines` tells where the lines of compiled code come from: source line, first and last line of the text, from 1.
    """

    status: int
    text: str
    errors: str
    lines: Sequence[tuple[int, int, int]] = ()


async def call(arguments: Sequence[str], text: str, seconds: float) -> Output:
    """Run `tvms` with a text on standard input; end it if it takes longer, or if the caller is cancelled."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tvms.dsl.cli", *arguments,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    try:
        data = text.encode("utf-8", "surrogatepass")
        out, errors = await asyncio.wait_for(process.communicate(data), seconds)
    except TimeoutError:
        return Output(124, "", f"tvms {' '.join(arguments)} took longer than {seconds:.0f} s")
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return Output(process.returncode or 0, out.decode("utf-8", "replace"), errors.decode("utf-8", "replace"))


async def check(name: str, text: str) -> list[dict[str, Any]] | None:
    """Return the diagnostics of `tvms check` as JSON; None if it did not end."""
    output = await call(["check", "-", "--stdin-filename", name, "--output-format", "json"], text, CHECK_SECONDS)
    try:
        rows: list[dict[str, Any]] = json.loads(output.text)
    except json.JSONDecodeError:
        return None
    return rows


async def execute(command: str, document: Document, name: str | None) -> Output:
    """Run one of `COMMANDS` on the text of a document, for the definition `name` if it takes one."""
    *arguments, last = COMMANDS[command]
    takes_name = last in ("--entry", "--apply")
    options = [*arguments, *([last, name] if takes_name and name else [] if takes_name else [last])]
    part = document.part_of(name) if name else None
    path = "-" if part is None else f"-::{part}"
    options += ["--color", "never", "--stdin-filename", document.name, "--", path]
    output = await call(options, document.lines.text, COMMAND_SECONDS)
    return _with_lines(output) if "--lines" in arguments and output.status == 0 else output


def _with_lines(output: Output) -> Output:
    """Return the output of `--lines json` as a text and its lines."""
    found: dict[str, Any] = json.loads(output.text)
    return output._replace(text=found["text"], lines=found["lines"])
