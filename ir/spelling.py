"""Suggestions for misspelt names, and names that arguments have in newer TVM."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from functools import wraps
from itertools import islice
from typing import ParamSpec, TypeVar

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")

MOST_NAMES = 10_000
"""Maximum number of names that are searched for names similar to a misspelt one."""

MOST_CANDIDATES = 40
"""Maximum number of similar names that are compared with a misspelt one: those of the most similar lengths."""


def did_you_mean(name: str, candidates: Iterable[str]) -> str | None:
    """Suggest the candidate closest to `name`: the same letters, or a last part with the same first letter or last two letters."""
    first, last = name[name.rfind(".") + 1 :][:1], name[-2:]
    parts = (rf"(?:.*\.)?{re.escape(first)}[^.\n]*", rf".*{re.escape(last)}", rf"(?i:{re.escape(name)})")
    similar = re.compile(rf"^(?:{'|'.join(parts)})$", re.MULTILINE)
    # A text may contain many misspelt names and many candidates, so the candidates are filtered in one search.
    others = [near for near in similar.findall("\n".join(islice(candidates, MOST_NAMES))) if near != name]
    if len(others) > MOST_CANDIDATES:
        others = sorted(others, key=lambda other: abs(len(other) - len(name)))[:MOST_CANDIDATES]
    alike = [other for other in others if other.lower() == name.lower()]
    near: Sequence[str] = alike or get_close_matches(name, others, n=1, cutoff=0.61)
    return f"did you mean '{near[0]}'?" if near else None


def newer_names(**names: str) -> Callable[[Callable[_Arguments, _Result]], Callable[_Arguments, _Result]]:
    """Decorate a function whose parameters have other names in TVM 0.27: each key of `names` is also accepted for its value.

    A call that gives both is a TypeError.
    """

    def decorated(function: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
        @wraps(function)
        def call(*args: _Arguments.args, **keywords: _Arguments.kwargs) -> _Result:
            for newer in names.keys() & keywords.keys():
                if names[newer] in keywords:
                    raise TypeError(f"Specify either {newer} or {names[newer]}, not both")
                keywords[names[newer]] = keywords.pop(newer)
            return function(*args, **keywords)

        return call

    return decorated
