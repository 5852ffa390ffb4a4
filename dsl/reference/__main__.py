"""`python -m tvms.dsl.reference` writes the generated files; `--check` compares them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from .pages import commands, diagnostics, language, operators, passes, schedules
from .stubs import stub_files
from .textmate import textmate

ROOT = Path(__file__).parents[2]
GENERATED: dict[str, Callable[[], str]] = {
    "docs/commands.md": commands,
    "docs/language.md": language,
    "docs/operators.md": operators,
    "docs/passes.md": passes,
    "docs/diagnostics.md": diagnostics,
    "docs/schedules.md": schedules,
    "grammar/tvms.tmLanguage.json": textmate,
    **stub_files(),
}
"""Every generated file: its path in the repository, and the function that returns its contents."""


def main(arguments: list[str], root: Path = ROOT) -> int:
    """Write the generated files below `root`; with `--check`, return 1 if one is out of date."""
    left = [path for path in (root / "stubs").rglob("*.pyi") if path.relative_to(root).as_posix() not in GENERATED]
    stale = [path.relative_to(root).as_posix() for path in left]
    for path, make in GENERATED.items():
        file, text = root / path, make()
        if "--check" not in arguments:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        elif not file.exists() or file.read_text(encoding="utf-8") != text:
            stale.append(path)
    if "--check" not in arguments:
        for path in left:
            path.unlink()
        return 0
    for path in stale:
        print(f"{path} is stale: run python -m tvms.dsl.reference", file=sys.stderr)
    return int(bool(stale))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
