"""`tvms dap`: the debug adapter, for editors."""

from __future__ import annotations

import argparse
import os
import socket
import sys
from contextlib import suppress
from typing import Any, BinaryIO, cast

from ...ir.sanitize import say
from ..dap import control, inspection, points  # imported to register the handlers of requests
from ..dap.adapter import Adapter, BadRequest, ConsoleStream
from ..dap.messages import Channel, Json, ProtocolError
from ..debugger.session import Options, Session
from ..debugger.timeline import MOST_STEPS
from . import choices
from .debuggee import Debuggee, open_session
from .reporting import UsageError

_ = control, inspection, points


def run(arguments: argparse.Namespace) -> int:
    """Serve one client on standard input and output, or on a port of this machine."""
    if arguments.tcp is None:
        return _serve_standard_streams()
    try:
        listener = socket.create_server(("127.0.0.1", arguments.tcp))
    except (OSError, OverflowError) as problem:
        raise UsageError(f"--tcp {arguments.tcp}: {problem}", help="choose another port") from None
    with listener:
        say(f"tvms dap listens on 127.0.0.1:{listener.getsockname()[1]}", sys.stderr)
        connection, _ = listener.accept()
        # The client may be gone when the streams are closed.
        with suppress(OSError), connection, connection.makefile("rb") as reader, connection.makefile("wb") as writer:
            return _serve(reader, writer)
        return 0


def _serve_standard_streams() -> int:
    """Serve on the standard streams; what the program prints goes to the client as events."""
    writer = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    outer = sys.stdout
    try:
        return _serve(sys.stdin.buffer, writer)
    finally:
        sys.stdout = outer


def _serve(reader: BinaryIO, writer: BinaryIO) -> int:
    channel = Channel(reader, writer)
    sys.stdout = ConsoleStream(channel)
    try:
        Adapter(channel, launch).serve()
    except ProtocolError as problem:
        say(f"error[E0826]: {problem}", sys.stderr)
        return 2
    return 0


def launch(arguments: Json, options: Options) -> Session:
    """Open the session of a launch request; its arguments are the options of `tvms debug`."""
    program = arguments.get("program")
    if not isinstance(program, str) or not program:
        raise BadRequest("the launch request has no program: give the path of a file")
    order = arguments.get("threadOrder", "ascending")
    if order not in choices.thread_orders():
        raise BadRequest(f"there is no thread order '{order}': choose one of {', '.join(choices.thread_orders())}")
    debuggee = Debuggee(
        program,
        _text(arguments, "entry"),
        _pairs(arguments, "args"),
        _pairs(arguments, "dims"),
        _number(arguments, "seed", 0),
        _text(arguments, "schedule"),
    )
    most_steps = max(_number(arguments, "history", MOST_STEPS), 1)
    settings = Options(order, most_steps, options.stop_at_faults, options.stop_at_nan, options.track, options.trap)
    try:
        return open_session(debuggee, settings)
    except UsageError as problem:
        raise BadRequest(str(problem)) from None


def _text(arguments: Json, key: str) -> str | None:
    value = arguments.get(key)
    if value is not None and not isinstance(value, str):
        raise BadRequest(f"'{key}' is not a text")
    return value or None


def _number(arguments: Json, key: str, default: int) -> int:
    value = arguments.get(key, default)
    if type(value) is not int or value < 0:
        raise BadRequest(f"'{key}' is not a number")
    return value


def _pairs(arguments: Json, key: str) -> list[str]:
    """Return `NAME=VALUE` texts: a list of them, or an object with the names as keys."""
    value: Any = arguments.get(key) or {}
    if isinstance(value, dict):
        return [f"{name}={item}" for name, item in cast("dict[str, Any]", value).items()]
    if isinstance(value, list) and all(isinstance(item, str) for item in cast("list[Any]", value)):
        return cast("list[str]", value)
    raise BadRequest(f"'{key}' is neither an object nor a list of NAME=VALUE")
