"""Writes the matrix of primitives and features into docs/fuzzing.md.

tvms fuzz schedule --n 20000 --seed 1 --state run.json
python tests/testing/feature_matrix.py run.json
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tvms.testing.matrix import tables

PAGE = Path(__file__).parents[2] / "docs" / "fuzzing.md"
START, END = "<!-- matrix: tests/testing/feature_matrix.py -->", "<!-- end of matrix -->"


def main(path: str) -> None:
    """Put the counts of a run, which `--state` kept, between the two marks of the page."""
    state = json.loads(Path(path).read_text(encoding="utf-8"))
    total = state["total"]
    said = f"{total['checked']:,} examples of `tvms fuzz {' '.join(state['run'].split())}`:"
    page = PAGE.read_text(encoding="utf-8")
    before, _, rest = page.partition(START)
    after = rest.partition(END)[2]
    lines = [START, "", said, "", *tables(total["constructs"]), "", END]
    PAGE.write_text(before + "\n".join(lines) + after, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
