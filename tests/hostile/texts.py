"""Read the hostile programs: cases of kind `hostile`.

A case without a text is the body of a function whose parameters `FUNCTION` names; its title is the body, in which `⏎` starts a
new line. In all of them, `{{…}}` denotes text that is too long or too strange to be written out:

- `{{1000*text}}`: the text so many times, in which `\\n`, `\\x1b` and `\\u202e` are escapes;
- `{{1000;line}}`: the line so many times, with the number of each in the place of `@`;
- `{{1000>line|last}}`: so many lines, each indented below the one before, and `last` below them all.
"""

from __future__ import annotations

import re

from text_cases import read_cases

FUNCTION = (
    "T.prim_func main(A: T.Buffer((16,), 'float32'), B: T.Buffer((16,), 'int32'), C: T.Buffer((16,), 'int8'), "
    "D: T.Buffer((16,), 'bfloat16'), E: T.Buffer((16,), 'uint64')):\n"
)
_FILLED = re.compile(r"\{\{(\d+)([*;>])(.*?)\}\}")


def expand(text: str) -> str:
    """Return a text with its long parts written out."""
    return _FILLED.sub(_filled, text)


def _filled(found: re.Match[str]) -> str:
    number, kind, text = found.groups()
    n = int(number)
    if kind == "*":
        return n * re.sub(r"\\(n|x\w\w|u\w{4})", lambda escape: escape[0].encode().decode("unicode_escape"), text)
    start = found.string.rfind("\n", 0, found.start()) + 1
    indent = " " * (found.start() - start)
    if kind == ";":
        return f"\n{indent}".join([text.replace("@", str(i)) for i in range(n)])
    line, _, last = text.partition("|")
    lines = [f"{' ' * i}{line.replace('@', str(i))}" for i in range(n)]
    return f"\n{indent}".join([*lines, f"{' ' * n}{last}"])


def read_texts() -> dict[str, str]:
    """Return all hostile programs by their titles."""
    return {case.id: expand(case.parts["given"] or _in_a_function(case.title)) for case in read_cases("hostile")}


def _in_a_function(body: str) -> str:
    return FUNCTION + "".join([f"    {line}\n" for line in body.split("⏎")])
