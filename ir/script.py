"""Hooks for text: `dsl` registers its printer and parser here, so that `ir` does not import `dsl`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_doors: dict[str, Callable[..., Any]] = {}


def register(
    script: Callable[..., str],
    show: Callable[..., None],
    render: Callable[..., str],
    underline: Callable[..., str],
    parse: Callable[..., Any],
    dump: Callable[..., tuple[str, bytes]],
) -> None:
    """Register the printer (`script`), the printer with carets under some nodes (`underline`), the display (`show`), the
    renderer of diagnostics (`render`), the parser (`parse`), and the writer of texts with tensors (`dump`).
    """
    _doors.update(script=script, show=show, render=render, underline=underline, parse=parse, dump=dump)


def _door(name: str) -> Callable[..., Any]:
    if name not in _doors:
        raise RuntimeError("no printer or parser is registered: import tvms, not tvms.ir alone")
    return _doors[name]


def script(node: object, dialect: str, **options: Any) -> str:
    """Return `node` as text in `dialect`."""
    return _door("script")(node, dialect, **options)


def show(node: object, dialect: str, **options: Any) -> None:
    """Display `node` for a person."""
    _door("show")(node, dialect, **options)


def render(diagnostics: object) -> str:
    """Return diagnostics as text, without color."""
    return _door("render")(diagnostics)


def underline(node: object, places: object) -> str:
    """Return `node` as text with line numbers, and with carets under the loops and blocks in `places`."""
    return _door("underline")(node, places)


def parse(text: str, name: str, tensors: bytes = b"") -> Any:
    """Return the module of a text, which messages call `name`; `tensors` is what `dump` returned beside the text."""
    return _door("parse")(text, name, tensors)


def dump(node: object) -> tuple[str, bytes]:
    """Return `node` as text, and the tensors that the text only names in the format of safetensors; b"" if there are none."""
    return _door("dump")(node)
