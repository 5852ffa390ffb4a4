"""The default number of threads of parallel loops."""

from __future__ import annotations

import os

from ..machine import core_count


def thread_count() -> int:
    """Return the number of threads of a parallel loop: from the environment, or one per core."""
    for name in ("TVMS_NUM_THREADS", "OMP_NUM_THREADS"):
        first = os.environ.get(name, "").partition(",")[0].strip()
        if first.isdecimal() and int(first) > 0:
            return int(first)
    return core_count()
