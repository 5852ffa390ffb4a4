"""The command `tvms`, which Ctrl-C ends at any moment, even while its parts are being imported."""

from __future__ import annotations

import signal


def main() -> int:
    """Run the command line and return its exit code."""
    try:
        from tvms.dsl.cli import main as run

        code = run()
    except KeyboardInterrupt:
        code = 130
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # what is left is the end of Python, which has nothing to stop
    return code
