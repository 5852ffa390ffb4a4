"""Macros in Python programs: `@T.macro` keeps a function, whose text joins those of the definitions that use it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from ...ir.base import Source

_NAME = re.compile(r"[^\W\d]\w*")


class Macro(Struct, frozen=True, eq=False):
    """A function decorated as a macro: its source with the lines of its file, and the names around it."""

    name: str
    source: Source
    names: Mapping[str, Any]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError(f"'{self.name}' is a macro: use it as a statement of a function decorated with T.prim_func")


def with_macros(source: Source, names: Mapping[str, Any]) -> tuple[Source, dict[str, Any]]:
    """Return `source` with the texts of the macros that it uses, and `names` with those that the macros use, without the macros.

    A macro of the same file keeps its lines if they are above the definition; others come first.
    """
    used = _used(source, names)
    if not used:
        return source, dict(names)
    lines = source.text.split("\n")
    first = next(number for number, line in enumerate(lines) if line.strip())
    before: list[str] = []
    found: dict[str, Any] = {}
    for macro in used:
        found = {**macro.names, **found}
        text = macro.source.text.split("\n")
        start = next(number for number, line in enumerate(text) if line.strip())
        if macro.source.name == source.name and len(text) <= first and not any(lines[start : len(text)]):
            lines[start : len(text)] = text[start:]
        else:
            before += text[start:]
    merged = {name: value for name, value in {**found, **names}.items() if not isinstance(value, Macro)}
    return Source(source.name, "\n".join([*before, *lines])), merged


def _used(source: Source, names: Mapping[str, Any]) -> list[Macro]:
    """Return the macros that a text uses, also by other macros, each before those that use it."""

    def below(text: str, known: Mapping[str, Any]) -> Iterator[Macro]:
        for name in dict.fromkeys(_NAME.findall(text)):
            macro = known.get(name)
            if isinstance(macro, Macro) and macro not in seen:
                seen.append(macro)
                yield from below(macro.source.text, macro.names)
                yield macro

    seen: list[Macro] = []
    return list(below(source.text, names))
