"""The times that `tvms bench` measured last, by the content of a function and its schedule: editors show them beside the text.

Each is a small file in the user's state folder. A function or a schedule that has changed since has another name, and so no time.
"""

from __future__ import annotations

import hashlib
from contextlib import suppress

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ..ir import tir
from ..ir.base import IRModule
from ..ir.deep import deep
from ..ir.diagnostics import TvmsError
from ..ir.files import MIB, read_file, state_folder, write_whole
from ..ir.schedule.apply import schedules_for
from ..ir.schedule.text import ScheduleText

FOLDER = "measured"


class Time(Struct, frozen=True):
    """A measured time in seconds, the target, and the sizes of symbolic dimensions."""

    median: float
    target: str
    sizes: dict[str, int]

    def __str__(self) -> str:
        sizes = "".join(f", {name}={size}" for name, size in self.sizes.items())
        return f"{duration(self.median)} ({self.target}{sizes})"


def duration(seconds: float) -> str:
    """Return a time with a suitable unit."""
    if seconds < 1e-3:
        return f"{seconds * 1e6:.0f} µs"
    return f"{seconds * 1e3:.1f} ms" if seconds < 1 else f"{seconds:.2f} s"


@deep
def key_of(function: tir.PrimFunc, schedule: ScheduleText) -> str:
    """Return the name of the measurements of a function with a schedule: the SHA-256 of their texts."""
    texts = (function.script(), replace(schedule, trivia=None, span=None).script())
    return hashlib.sha256("\0".join(texts).encode("utf-8", "surrogatepass")).hexdigest()


def remember(module: IRModule, entry: str, time: Time) -> None:
    """Keep the time of a loop function that a schedule of the module applies to; a folder that cannot be written is left."""
    function = module.functions.get(entry)
    schedule = next((text for text in schedules_for(module, time.target) if text.function == entry), None)
    if isinstance(function, tir.PrimFunc) and schedule is not None:
        with suppress(TvmsError, OSError):
            write_whole(msgspec.json.encode(time), f"{FOLDER}/{key_of(function, schedule)}.json", below=state_folder())


def find(key: str) -> Time | None:
    """Return the time that was measured last; None if there is none."""
    with suppress(OSError, msgspec.MsgspecError):
        return msgspec.json.decode(read_file(f"{state_folder()}/{FOLDER}/{key}.json", MIB), type=Time)
    return None
