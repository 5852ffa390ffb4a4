"""`--watch`: run a command again when its files change."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable

from ...ir.sanitize import say

INTERVAL = 0.25
"""Seconds between two checks of the files."""


def watch(
    run: Callable[[], int], files: Callable[[], Iterable[str]], pause: Callable[[float], None] = time.sleep
) -> int:
    """Call `run` now and whenever one of `files` changes, appears or disappears; only KeyboardInterrupt ends it."""
    seen: dict[str, tuple[int, int] | None] | None = None
    while True:
        now = {file: _state(file) for file in files()}
        if now != seen:
            seen = now
            run()
            say("watching for changes; Ctrl-C ends")
        pause(INTERVAL)


def _state(file: str) -> tuple[int, int] | None:
    """Return the modification time and size of a file; None if it does not exist."""
    try:
        status = os.stat(file)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size
