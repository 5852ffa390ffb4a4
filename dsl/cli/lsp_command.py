"""`tvms lsp`: the language server, for editors."""

from __future__ import annotations

import argparse
import logging
import os
import sys
from importlib import metadata
from importlib.util import find_spec
from typing import BinaryIO

from ...ir.sanitize import say
from .check_command import check_schedules
from .reporting import UsageError


def run(arguments: argparse.Namespace) -> int:
    """Serve a client on standard input and output, or on a port of this machine."""
    if find_spec("pygls") is None:
        raise UsageError("tvms lsp needs pygls", help="install it: pip install 'tvms-lang[lsp]'")
    from ..server.features import create

    logging.basicConfig(level=logging.WARNING, stream=sys.stderr, format="%(levelname)s: %(message)s")
    server = create(_version(), check_schedules)
    if arguments.tcp is None:
        server.start_io(stdout=_Output(sys.stdout.buffer))  # type: ignore[reportUnknownMemberType, reportArgumentType]
    else:
        say(f"tvms lsp listens on 127.0.0.1:{arguments.tcp}", sys.stderr)
        server.start_tcp("127.0.0.1", arguments.tcp)
    return 0


class _Output:
    """Standard output. When the client has closed it, the process ends at once: nobody waits for its answers."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream

    def write(self, data: bytes) -> None:
        """Send a message."""
        try:
            self._stream.write(data)
            self._stream.flush()
        except OSError:
            os._exit(0)  # the thread that reads standard input cannot be interrupted

    def flush(self) -> None:
        """Do nothing: each message is sent at once."""

    def close(self) -> None:
        """Do nothing: the stream is closed with the process."""


def _version() -> str:
    try:
        return metadata.version("tvms-lang")
    except metadata.PackageNotFoundError:
        return "unknown"
