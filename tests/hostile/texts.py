"""Read the hostile programs of `tests/cases/hostile`.

`programs_*.txt` hold whole texts under `# === title`; each line of `statements_*.txt` is the body of a function whose
parameters `FUNCTION` names, in which `⏎` starts a new line. In both, `{{…}}` stands for text that is too long or too
strange to be written out:

- `{{1000*text}}`: the text so many times, in which `\\n`, `\\x1b` and `\\u202e` are escapes;
- `{{1000;line}}`: the line so many times, with the number of each in the place of `@`;
- `{{1000>line|last}}`: so many lines, each indented below the one before, and `last` below them all.
"""

from __future__ import annotations

import re
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "cases" / "hostile"
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
    texts: dict[str, str] = {}
    for path in sorted(FOLDER.glob("programs_*.txt")):
        parts = re.split(r"^# === (.*)\n", path.read_text(encoding="utf-8"), flags=re.M)
        texts |= {f"{path.stem}: {title}": expand(text) for title, text in zip(parts[1::2], parts[2::2], strict=True)}
    for path in sorted(FOLDER.glob("statements_*.txt")):
        for line in path.read_text(encoding="utf-8").splitlines():
            body = "".join([f"    {part}\n" for part in line.split("⏎")])
            texts[f"{path.stem}: {line}"] = expand(FUNCTION + body)
    return texts
