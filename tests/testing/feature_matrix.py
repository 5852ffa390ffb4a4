"""Write the coverage of runs of the laws into docs/fuzzing.md, and fail if a cell is empty without a reason.

for law in …; do tvms fuzz $law --n 2000 --state FOLDER/$law.json; done
python tests/testing/feature_matrix.py FOLDER           write the tables
python tests/testing/feature_matrix.py FOLDER --check   print the empty cells without a reason; exit code 1 if there are
any
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from tvms.testing.coverage import distribution, form_table, gaps
from tvms.testing.matrix import tables

PAGE = Path(__file__).parents[2] / "docs" / "fuzzing.md"


def read(folder: str) -> dict[str, Any]:
    """Return the states that `--state` saved in a folder, by law."""
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(Path(folder).glob("*.json"))}


def write(states: dict[str, Any]) -> None:
    """Write the tables between the marks of the page."""
    counts = {law: state["total"]["constructs"] for law, state in states.items()}
    said = {law: f"{state['total']['checked']:,} examples of `tvms fuzz {' '.join(state['run'].split())}`" for law, state in states.items()}  # fmt: skip
    page = PAGE.read_text(encoding="utf-8")
    if "schedule" in states:
        page = replaced(page, "matrix", [f"{said['schedule']}:", "", *tables(counts["schedule"])])
    runs = [f"{', '.join(said.values())}:", ""]
    page = replaced(page, "forms", [*runs, *form_table(counts, graphs=False), "", *form_table(counts, graphs=True)])
    if "codegen" in states:
        rows = distribution(counts["codegen"], states["codegen"]["total"]["checked"])
        page = replaced(page, "distribution", [f"{said['codegen']}:", "", *rows])
    PAGE.write_text(page, encoding="utf-8")


def replaced(page: str, name: str, lines: list[str]) -> str:
    """Return the page with other lines between the marks of a table."""
    start, end = f"<!-- {name}: tests/testing/feature_matrix.py -->", f"<!-- end of {name} -->"
    before, _, rest = page.partition(start)
    after = rest.partition(end)[2]
    return before + "\n".join([start, "", *lines, "", end]) + after


def main(arguments: list[str]) -> int:
    """Write the tables, or check them."""
    states = read(arguments[0])
    if "--check" not in arguments:
        write(states)
        return 0
    found = gaps({law: state["total"]["constructs"] for law, state in states.items()})
    for gap in found:
        print(gap)
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
