"""Tables of mutants in docs/testing.md: what became of those of each module, and which share each law detects.

    python tests/testing/mutation_table.py RECORD            write the tables of a record of mutation.py
    python tests/testing/mutation_table.py RECORD --open     print the survivors that are not explained yet

`survivors.txt` lists the survivors that were read, one per line: their class, the reason, and the mutant.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any, TypeAlias

PAGE = Path(__file__).parents[2] / "docs" / "testing.md"
SURVIVORS = Path(__file__).with_name("survivors.txt")
CLASSES = {
    "equivalent": "no input shows a difference",
    "performance": "only time, memory or the choice of a schedule differ",
    "message": "only the text, place or order of messages differs",
    "text": "the printed or generated text differs, but means the same",
    "unspecified": "another result is also correct",
    "open": "a law or a test should detect it",
}
HARMLESS = ("equivalent", "performance", "message", "text", "unspecified")
"""Classes of mutants that break no law."""
Line: TypeAlias = dict[str, Any]
"""Verdict on a mutant in a record."""


def read(record: Path) -> dict[str, Line]:
    """Return the last verdict on each mutant by its name."""
    if not record.exists():
        return {}
    lines = [json.loads(line) for line in record.read_text(encoding="utf-8").splitlines()]
    return {line["name"]: line for line in lines}


def survivors() -> dict[str, tuple[str, str]]:
    """Return the class and the reason of each survivor that was read, by the name of the mutant."""
    if not SURVIVORS.exists():
        return {}
    lines = [line for line in SURVIVORS.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    parts = [line.split(" | ", 2) for line in lines]
    return {name: (kind, reason) for kind, reason, name in parts}


def _outcome(line: Line, known: dict[str, tuple[str, str]]) -> str:
    """Return what became of a mutant: `laws`, `tests`, `not reached`, or the class of a survivor."""
    if line["judge"]:
        return "tests" if line["judge"] == "tests" else "laws"
    if line["name"] in known:
        return known[line["name"]][0]
    return "open" if line["is_reached"] else "not reached"


def outcomes(lines: dict[str, Line]) -> list[str]:
    """Return the table of modules: how many mutants of each were detected, and by what."""
    known = survivors()
    rows = [
        "| module | mutants | not reached | killed by laws | by tests | equivalent | other survivors | killed |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for room in (*sorted({line["room"] for line in lines.values()}), ""):
        counts = Counter(_outcome(line, known) for line in lines.values() if room in ("", line["room"]))
        harmless, killed = sum(counts[kind] for kind in HARMLESS), counts["laws"] + counts["tests"]
        cells = [counts.total(), counts["not reached"], counts["laws"], counts["tests"], harmless, counts["open"]]
        name = f"`{room}`" if room else "all"
        rows.append(f"| {name} | {' | '.join(map(str, cells))} | {_share(killed, counts.total() - harmless)} |")
    return rows


def rates(lines: dict[str, Line]) -> list[str]:
    """Return the table of laws: the share of the mutants of each module that a law detects, of those that it executes."""
    rooms = sorted({line["room"] for line in lines.values()})
    asked = Counter((law, line["room"]) for line in lines.values() for law in line["asked"])
    found = Counter((law, line["room"]) for line in lines.values() for law in line["laws"])
    rows = [
        f"| law | {' | '.join(f'`{room}`' for room in rooms)} |",
        f"| --- | {' | '.join('---:' for _ in rooms)} |",
    ]
    for law in sorted({law for law, _ in asked}):
        cells = [f"{found[law, room]} / {asked[law, room]}" if asked[law, room] else "–" for room in rooms]
        rows.append(f"| `{law}` | {' | '.join(cells)} |")
    return rows


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.0%}" if whole else "–"


def sample_of(lines: dict[str, Line]) -> str:
    """Return a sentence about the sample of a record: the number of mutants, their seeds, and the laws that judged them."""
    seeds = ", ".join(str(seed) for seed in sorted({line["seed"] for line in lines.values() if "seed" in line}))
    laws = ", ".join(f"`{law}`" for law in sorted({law for line in lines.values() for law in line["asked"]}))
    return (
        f"A sample of {len(lines)} mutants (seed {seeds or 'unknown'}), judged by the laws {laws}, each with the examples of a few "
        "seconds of processor time, and what they accept by some of the tests. A mutant that nothing reaches counts as not killed."
    )


def survived(lines: dict[str, Line]) -> list[str]:
    """Return the list of the mutants that were reached and not detected, with the class and the reason of each, if known."""
    known = survivors()
    rows = ["Survivors:", ""]
    for line in lines.values():
        if not line["judge"] and line["is_reached"]:
            kind, reason = known.get(line["name"], ("open", "not explained yet"))
            rows.append(f"- `{line['name']}` – {kind}: {reason}")
    return rows


def written(page: str, lines: dict[str, Line]) -> str:
    """Return the page with the tables and the survivors between their marks."""
    start, end = "<!-- mutants: tests/testing/mutation_table.py -->", "<!-- end of mutants -->"
    before, _, rest = page.partition(start)
    parts = [sample_of(lines), "", *outcomes(lines), "", *rates(lines), "", *survived(lines)]
    return before + "\n".join([start, "", *parts, "", end]) + rest.partition(end)[2]


def main(arguments: list[str]) -> None:
    """Write the tables, or list survivors."""
    lines = read(Path(arguments[0]))
    if "--open" in arguments:
        known = survivors()
        for line in lines.values():
            if _outcome(line, known) in ("open", "not reached"):
                print(f"{_outcome(line, known)} | {line['line']} | {line['name']}")
        return
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8"), lines), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
