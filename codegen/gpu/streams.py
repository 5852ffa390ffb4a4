"""Streams as arguments: numbers, and the objects of other libraries."""

from __future__ import annotations

from typing import Any

from ..runtime.specs import ArgumentContext, kind_of

LEGACY, PER_THREAD = 1, 2
"""CUDA's numbers for the default stream and for that of the calling thread; numbers above are addresses."""

_NUMBERS = ("cuda_stream", "handle", "ptr")
"""The attributes in which torch, pycuda and CuPy keep the number of a stream."""


class DeviceStream:
    """A stream of a driver. Its number is given to other libraries by `__cuda_stream__`."""

    def __init__(self, number: int, release: Any, owner: Any) -> None:
        self.number, self._release, self._owner = number, release, owner

    def __cuda_stream__(self) -> tuple[int, int]:
        """Return the version of the protocol and the number of the stream."""
        return 0, self.number

    def __del__(self) -> None:
        self._release(self._owner)

    def __repr__(self) -> str:
        return f"DeviceStream({self.number:#x})"


def stream_number(stream: Any, function: str = "") -> int:
    """Return the number of a stream, 0 for the default one; E0702 if `stream` is not a stream.

    A stream is None, a number, or an object with `__cuda_stream__` or with its number in an attribute, as in
    torch, pycuda and CuPy.
    """
    found: Any = 0 if stream is None else stream
    protocol = getattr(stream, "__cuda_stream__", None)
    if protocol is not None:
        said = protocol() if callable(protocol) else protocol
        found = said[1] if isinstance(said, tuple) and len(said) == 2 and said[0] == 0 else None  # type: ignore[misc]
    elif not isinstance(found, int):
        found = next((getattr(stream, name) for name in _NUMBERS if hasattr(stream, name)), None)
    if isinstance(found, bool) or not isinstance(found, int) or found < 0:
        help = "pass a number, or an object with __cuda_stream__, such as tvms.cuda().create_raw_stream()"
        raise ArgumentContext("stream", function).fault("E0702", f"expected a stream, got {kind_of(stream)}", help)
    return 0 if found == LEGACY else found
