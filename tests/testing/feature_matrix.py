"""Write the coverage of runs of the laws into docs/testing.md and its summary into docs/fuzzing.md, and fail if a cell is empty without a reason.

for law in …; do tvms fuzz $law --n 2000 --state FOLDER/$law.json; done
python tests/testing/feature_matrix.py FOLDER           write the tables
python tests/testing/feature_matrix.py FOLDER --draw N  first draw N examples of each law but `schedule` without checking them
python tests/testing/feature_matrix.py FOLDER --check   print the empty cells without a reason; exit code 1 if there are
any
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import msgspec
from tvms.testing.campaign import BATCH, State, drawn_batch
from tvms.testing.coverage import (
    GRAPH_LAWS,
    INTRINSIC_LAWS,
    LOOP_LAWS,
    distribution,
    form_table,
    gaps,
    intrinsic_table,
    summary,
)
from tvms.testing.matrix import tables

DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "testing.md"
SUMMARY = DOCS / "fuzzing.md"
SEED = 20261128
"""Seed of drawn examples."""


def read(folder: str) -> dict[str, State]:
    """Return the states that `--state` saved in a folder, by law; stop if there are none."""
    paths = sorted(Path(folder).glob("*.json"))
    if not paths:
        sys.exit(f"'{folder}' has no states of runs: run `tvms fuzz LAW --state {folder}/LAW.json` for each law first")
    states = [msgspec.json.decode(path.read_bytes(), type=State) for path in paths]
    return {state.law: state for state in states}


def draw(folder: Path, count: int) -> None:
    """Save the counts of `count` examples of each law; those of `schedule` depend on the check."""
    from tvms.dsl.cli.fuzz_command import compiled
    from tvms.testing.laws.recipes import derive

    def prepare(example: Any) -> None:
        derive(example, compiled)

    folder.mkdir(parents=True, exist_ok=True)
    for law in dict.fromkeys((*INTRINSIC_LAWS, *GRAPH_LAWS)):
        state = State(law, count, SEED)
        if (folder / f"{law}.json").exists():
            continue
        for number, start in enumerate(range(0, count, BATCH)):
            state.total.add(
                drawn_batch(law, SEED, number, min(BATCH, count - start), prepare if law == "recipes" else None)
            )
        state.write(folder / f"{law}.json")


def write(states: dict[str, State]) -> None:
    """Write the tables between the marks of the page; keep a table if the laws that it is about did not run."""
    counts = {law: state.total.constructs for law, state in states.items()}
    said = {law: f"{state.total.checked:,} examples of `{state.command}`" for law, state in states.items()}
    page = PAGE.read_text(encoding="utf-8")
    if "schedule" in states:
        page = replaced(page, "matrix", [f"{said['schedule']}:", "", *tables(counts["schedule"])])
    if "recipes" in states:
        page = replaced(page, "rules", [f"{said['recipes']}:", "", *tables(counts["recipes"], "rule")])
    if states.keys() >= set(INTRINSIC_LAWS):
        page = replaced(
            page,
            "intrinsics",
            [
                "The runs of the table above and those of "
                + ", ".join(said[law] for law in INTRINSIC_LAWS if law not in LOOP_LAWS)
                + ":",
                "",
                *intrinsic_table(counts),
            ],
        )
    missing = sorted({*LOOP_LAWS, *GRAPH_LAWS} - states.keys())
    if missing:
        print(f"the table of forms is kept: no runs of {', '.join(missing)}")
    else:
        runs = [f"{', '.join(said[law] for law in dict.fromkeys((*LOOP_LAWS, *GRAPH_LAWS)))}:", ""]
        page = replaced(page, "forms", [*runs, *form_table(counts, graphs=False), "", *form_table(counts, graphs=True)])
        seeds = ", ".join(sorted({str(state.seed) for state in states.values()}))
        lines = summary(counts, {law: state.total.checked for law, state in states.items()})
        short = replaced(SUMMARY.read_text(encoding="utf-8"), "coverage", [f"Runs with seed {seeds}:", "", *lines])
        SUMMARY.write_text(short, encoding="utf-8")
    if "codegen" in states:
        rows = distribution(counts["codegen"], states["codegen"].total.checked)
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
    if "--draw" in arguments:
        draw(Path(arguments[0]), int(arguments[arguments.index("--draw") + 1]))
    states = read(arguments[0])
    if "--check" not in arguments:
        write(states)
        return 0
    found = gaps({law: state.total.constructs for law, state in states.items()})
    for gap in found:
        print(gap)
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
