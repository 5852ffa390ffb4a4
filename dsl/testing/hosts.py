"""Host files around texts: Python programs, notebooks and pages, with other code before and after the definitions."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ...ir.base import IRModule, Source
from ..embedded import Host, read_host
from ..load import read_definition
from ..printer import DIALECTS
from .choices import Choices

SUFFIXES = (".py", ".md", ".ipynb")
_MARK = "# host: "
_BEFORE = (
    "import numpy as np\n",
    "from tvm.script import ir as I, relax as R, tir as T\n",
    '"""A page\nwith `T.prim_func` in a string."""\n',
    "SIZE = 3\n",
    "def helper(x):\n  return  x+1   # not formatted\n",
)
_AFTER = (
    "\n\ndef after( x ):\n    return x\n",
    "\nprint('done')\n",
    "\n\nclass Other:\n    value = [1,\n  2]\n",
)
_PROSE = ("# Title\n\nText with `code`.\n\n", "- a list\n\n", "```sh\nmake test\n```\n\n", "")


class HostText(Struct, frozen=True):
    """A text, alone or inside a host file, whose name ends in `suffix`."""

    text: str
    suffix: str = ""

    def __str__(self) -> str:
        return f"{_MARK}{self.suffix}\n{self.text}" if self.suffix else self.text

    @property
    def source(self) -> Source:
        """The file."""
        return Source(f"example{self.suffix or '.tvms'}", self.text)

    def host(self) -> Host:
        """Return the definitions in it; AssertionError if it is read as a whole."""
        host = read_host(self.source)
        assert host is not None, "the file is not read as a host"
        return host

    @classmethod
    def read(cls, text: str) -> HostText:
        """Return the text that `str` writes."""
        if text.startswith("# law: "):
            text = text.partition("\n")[2]
        if not text.startswith(_MARK):
            return HostText(text)
        mark, _, rest = text.partition("\n")
        return HostText(rest, mark.removeprefix(_MARK))


def hosted(choose: Choices, text: str, is_python: bool) -> HostText:
    """Return a text inside a host; pages hold texts of any dialect, programs and notebooks those of TVM."""
    suffix = choose.pick(SUFFIXES) if is_python else ".md"
    text = text.rstrip("\n") + "\n"
    if suffix == ".md":
        fence, language = choose.pick(("```", "~~~~")), "python" if is_python else "tvms"
        page = f"{choose.pick(_PROSE)}{fence}{language}\n{text}{fence}\n\n{choose.pick(_PROSE)}"
        return HostText(page, suffix)
    if choose.rarely(3) and not any(sign in text for sign in ('"""', "'''", "\\\n", "\t")):
        text = "if True:\n" + "".join(
            f"    {line}" if line.strip() else line for line in text.splitlines(keepends=True)
        )
    code = f"{choose.pick(_BEFORE)}{choose.pick(_BEFORE)}\n\n{text}{choose.pick(_AFTER)}"
    return HostText(code if suffix == ".py" else _notebook(choose, code), suffix)


def _notebook(choose: Choices, code: str) -> str:
    cells = [_cell("code", code), _cell("markdown", "# A title\n"), _cell("code", "1+1\n")]
    if choose.number(0, 1):
        cells.reverse()
    document: dict[str, Any] = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(document, indent=choose.pick((1, 2, None)), ensure_ascii=bool(choose.number(0, 1)))


def _cell(kind: str, code: str) -> dict[str, Any]:
    lines = code.splitlines(keepends=True) if "\r" not in code else [code]
    cell: dict[str, Any] = {"cell_type": kind, "metadata": {}, "source": lines}
    return cell | {"outputs": [], "execution_count": None} if kind == "code" else cell


def module_of(host: Host) -> IRModule:
    """Return all functions of the definitions in a host."""
    modules = [read_definition(definition) for definition in host.definitions]
    functions: Mapping[str, Any] = {name: func for module in modules for name, func in module.functions.items()}
    return replace(modules[0], functions=functions)


def outside(host: Host) -> list[str]:
    """Return what a host contains beside its definitions, piece by piece."""
    found: list[str] = []
    for source in {definition.source.name: definition.source for definition in host.definitions}.values():
        own = [definition for definition in host.definitions if definition.source is source]
        bounds = [0, *(place for definition in own for place in (definition.start, definition.end)), len(source.text)]
        found += [source.text[low:high] for index, (low, high) in enumerate(pairwise(bounds)) if not index % 2]
    return found


TVM_DIALECTS = tuple(dialect for dialect in DIALECTS if dialect != "tvms")
