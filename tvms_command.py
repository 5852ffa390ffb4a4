"""The command `tvms`. Ctrl-C ends it at any time, even during imports."""

from __future__ import annotations

import signal


def main() -> int:
    """Run the command line and return its exit code."""
    try:
        from tvms.dsl.cli import main as run

        code = run()
    except KeyboardInterrupt:
        code = 130
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # only the interpreter's shutdown is left, which needs no interruption
    return code
