"""Messages of the Debug Adapter Protocol: JSON with a header that gives its length."""

from __future__ import annotations

import json
from threading import Lock
from typing import Any, BinaryIO, TypeAlias, cast

Json: TypeAlias = dict[str, Any]

MOST_BYTES = 64 * 2**20
"""Maximum length of a message from the client."""


class ProtocolError(Exception):
    """The client sent something other than a message."""


class Channel:
    """The connection to a client; several threads may write."""

    def __init__(self, reader: BinaryIO, writer: BinaryIO) -> None:
        self._reader, self._writer = reader, writer
        self._lock = Lock()
        self._sequence = 0

    def read(self) -> Json | None:
        """Return the next message, or None at the end of the connection; raise ProtocolError if it is none."""
        try:
            length = self._length()
            data = b"" if length is None else self._reader.read(length)
        except OSError:
            return None  # the client is gone
        if length is None or len(data) < length:
            return None
        try:
            message: Any = json.loads(data)
        except (ValueError, RecursionError) as problem:
            raise ProtocolError(f"a message is not JSON: {problem}") from None
        if not isinstance(message, dict):
            raise ProtocolError("a message is not an object")
        return cast("Json", message)

    def _length(self) -> int | None:
        """Read a header; return the length of the message, None at the end of the connection."""
        length = None
        while line := self._reader.readline(1024):
            text = line.strip().decode("ascii", "replace")
            if not text and length is not None:
                return length
            name, _, value = text.partition(":")
            if name.lower() == "content-length" and value.strip().isdecimal() and len(value) < 24:
                length = int(value)
            elif name.lower() != "content-type":
                raise ProtocolError(f"expected a header 'Content-Length: N', got {text[:80]!r}")
            if length is not None and length > MOST_BYTES:
                raise ProtocolError(f"a message has {length} bytes, more than {MOST_BYTES}")
        return None

    def write(self, message: Json) -> None:
        """Send a message, with the next sequence number; one that cannot be sent any more is dropped."""
        with self._lock:
            self._sequence += 1
            data = json.dumps({"seq": self._sequence, **message}).encode()
            try:
                self._writer.write(b"Content-Length: %d\r\n\r\n%b" % (len(data), data))
                self._writer.flush()
            except (OSError, ValueError):
                pass  # the client is gone; the end of its messages ends the adapter

    def event(self, name: str, body: Json | None = None) -> None:
        """Send an event."""
        self.write({"type": "event", "event": name, "body": body or {}})
