"""Graph functions whose sizes no proof shows to be equal, with sizes that fit, or of which one does not.

Sizes of parameters of a function of static shapes become variables, each another one. The operators then assume what was proven
before, and that is checked at run time (`ir.run_time_checks`).
"""

from __future__ import annotations

import re

from hypothesis import strategies as st

from ...ir import relax
from ...ir.base import IRModule
from ...ir.diagnostics import TvmsError
from ...ir.programs import as_module
from ..load import parse
from .calls import call_functions
from .choices import Choices
from .graphs import graph_functions
from .varied_calls import operator_functions

SIZES = "sizes"
"""Name of the module attribute that gives the sizes of the variables."""
_HEAD = re.compile(r"^(?P<head> *R\.function(?:\([^()]*\))? \w+\(.*?\))(?P<result> -> .*)?:$", re.MULTILINE)
_SHAPE = re.compile(r"R\.Tensor\(\((?P<sizes>[^()]*)\)")
_ANNOTATION = re.compile(r"^(?P<name> *\w+): R\.[^=]* = ", re.MULTILINE)
_LEFT_OUT = ("R.image.", "R.gather_elements", 'pad_mode="reflect"')
"""Operators that are not drawn. Image operators compute positions in float32, and round differently if sizes are symbolic. The others
need one size to be at least another, which is not checked at run time.
"""
_ATTEMPTS = 8


@st.composite
def unproven_sizes(draw: st.DrawFn) -> IRModule:
    """Generate modules of one graph function, with the sizes of its variables in the attribute `SIZES`."""
    choose = Choices(draw)
    for _ in range(_ATTEMPTS):
        function = choose.draw(choose.pick((operator_functions(), call_functions(), graph_functions())))
        found = _unproven(choose, function)
        if found is not None:
            return found
    return as_module(choose.draw(graph_functions())).with_attr(SIZES, {})


def _unproven(choose: Choices, function: relax.Function) -> IRModule | None:
    """Return the function with variables for sizes of its parameters; None if an operator does not accept that."""
    text = as_module(function).script()
    head = _HEAD.search(text)
    if head is None or '"n"' in text or any(name in text for name in _LEFT_OUT):
        return None
    sizes: dict[str, int] = {}

    def named(match: re.Match[str]) -> str:
        parts: list[str] = []
        for part in filter(None, map(str.strip, match["sizes"].split(","))):
            name = f"s{len(sizes)}"
            if part.isdigit() and choose.number(0, 2):
                sizes[name] = int(part)
            parts.append(f'"{name}"' if name in sizes else part)
        return f"R.Tensor(({''.join(f'{part}, ' for part in parts)})"

    result = head["result"] or "" if choose.rarely(3) else ""
    opened = _SHAPE.sub(named, head["head"])
    body = _ANNOTATION.sub(r"\g<name> = ", text[head.end() :])
    try:
        module = parse(f"{text[: head.start()]}{opened}{result}:{body}")
    except TvmsError:
        return None
    if sizes and choose.number(0, 1):
        name = choose.pick([*sizes])
        sizes[name] = max(sizes[name] + choose.pick((1, -1, 2)), 0)
    return module.with_attr(SIZES, sizes) if sizes else None
