"""The one door between program and text: `dsl` registers printer and parser here, so that `ir` need not know them."""

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
    """Set how nodes are printed (`script`), also with carets under some (`underline`), shown to a person (`show`),
    diagnostics turned to text (`render`), texts to modules (`parse`), and modules to texts with tensors (`dump`)."""
    _doors.update(script=script, show=show, render=render, underline=underline, parse=parse, dump=dump)


def _door(name: str) -> Callable[..., Any]:
    if name not in _doors:
        raise RuntimeError("no printer or parser is registered: import tvms, not tvms.ir alone")
    return _doors[name]


def script(node: object, dialect: str, **options: Any) -> str:
    """Return `node` as text in `dialect`."""
    return _door("script")(node, dialect, **options)


def show(node: object, dialect: str, **options: Any) -> None:
    """Print `node` for a person."""
    _door("show")(node, dialect, **options)


def render(diagnostics: object) -> str:
    """Return diagnostics as text, without colour."""
    return _door("render")(diagnostics)


def underline(node: object, places: object) -> str:
    """Return `node` as text with line numbers, and carets under the loops and blocks `places` in it."""
    return _door("underline")(node, places)


def parse(text: str, name: str, tensors: bytes = b"") -> Any:
    """Return the module that a text holds, which messages call `name`, with the `tensors` that `dump` gave beside it."""
    return _door("parse")(text, name, tensors)


def dump(node: object) -> tuple[str, bytes]:
    """Return `node` as text, and the tensors that the text only names, as safetensors has them; b"" where there are
    none."""
    return _door("dump")(node)
