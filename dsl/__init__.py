"""Text and people: parser, printer, diagnostics and the command line. Importing it lets nodes print themselves."""

from __future__ import annotations

from typing import Any

from ..ir import hooks as _hooks


def _print(node: Any, dialect: str = "tvms", **options: Any) -> str:
    from . import printer

    return printer.script(node, dialect, **options)


def _print_with_spans(node: Any, source: Any) -> tuple[str, dict[int, Any]]:
    from . import printer

    return printer.script_with_spans(node, source)


def _show(node: Any, dialect: str = "tvms", **options: Any) -> None:
    from . import printer

    printer.show(node, dialect, **options)


def _render(diagnostics: Any) -> str:
    from . import diagnostics as rendering

    return rendering.render(diagnostics)


def _underline(node: Any, places: Any) -> str:
    from . import printer

    return printer.underline(node, places)


def _parse(text: str, name: str, tensors: bytes) -> Any:
    from . import load, sidecar

    return load.parse(text, name, sidecar.tensors_in(tensors, name) if tensors else None)


def _dump(node: Any) -> tuple[str, bytes]:
    from . import sidecar

    return sidecar.dump(node)


def _html(*parts: object) -> str:
    from . import html

    return html.page(*parts)


_hooks.define(
    script=_print, script_with_spans=_print_with_spans, show=_show, render=_render, underline=_underline, parse=_parse,
    dump=_dump, html=_html,
)  # fmt: skip
