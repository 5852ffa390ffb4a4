"""Programs as text, for people and files: `dsl` defines these functions, so that `ir` does not import it (`hooks`)."""

from __future__ import annotations

from typing import Any

from . import hooks


def script(node: object, dialect: str, **options: Any) -> str:
    """Return `node` as text in `dialect`."""
    return hooks.call("script", node, dialect, **options)


def script_with_spans(node: object, source: object) -> tuple[str, dict[int, Any]]:
    """Return `node` as text, and the position in `source` of the statement on each line, by line number."""
    return hooks.call("script_with_spans", node, source)


def show(node: object, dialect: str, **options: Any) -> None:
    """Display `node` for a person."""
    hooks.call("show", node, dialect, **options)


def html(*parts: object) -> str:
    """Return programs (nodes), tables (sequences of rows, the headings first) and paragraphs (texts) as HTML for a notebook."""
    return hooks.call("html", *parts)


def render(diagnostics: object) -> str:
    """Return diagnostics as text, without color."""
    return hooks.call("render", diagnostics)


def underline(node: object, places: object) -> str:
    """Return `node` as text with line numbers, and with carets under the loops and blocks in `places`."""
    return hooks.call("underline", node, places)


def parse(text: str, name: str, tensors: bytes = b"") -> Any:
    """Return the module of a text, which messages call `name`; `tensors` is what `dump` returned beside the text."""
    return hooks.call("parse", text, name, tensors)


def dump(node: object) -> tuple[str, bytes]:
    """Return `node` as text, and the tensors that the text only names in the format of safetensors; b"" if there are none."""
    return hooks.call("dump", node)
