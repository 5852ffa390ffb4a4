"""The law `cost` for every construct, or every pair of constructs, in every shape and stage, in batches.

    python bench/cost_sweep.py [--stages STAGE,...] [--pairs] [--part K/N] [--only WORD]

`--part 3/100` checks every hundredth example, starting with the third. The exit code is 1 if an example fails. Work is
counted in function calls, so that the load of the machine does not matter.
"""

from __future__ import annotations

import argparse
import sys
from itertools import islice
from typing import Any

import tvms
from tvms.dsl.testing.laws.cost import COMPILE, LAW, STAGES, Example, all_examples
from tvms.ir.base import IRModule


def _compiled(module: IRModule, entry: str) -> Any:
    return tvms.compile(module, level=0)[entry]


def _failure(example: Example) -> str | None:
    """Return how an example breaks the law; None if it does not."""
    try:
        LAW.check(example, _compiled)
    except Exception as problem:
        return f"{type(problem).__name__}: {problem}"
    return None


def main() -> int:
    """Check a batch of examples."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stages", default=",".join((*STAGES, COMPILE)), help="stages, separated by commas")
    parser.add_argument("--pairs", action="store_true", help="pairs of constructs instead of single ones")
    parser.add_argument("--part", default="1/1", help="which part of the examples")
    parser.add_argument("--only", default="", help="examples whose shape or constructs contain this")
    arguments = parser.parse_args()
    first, count = map(int, arguments.part.split("/"))
    examples = all_examples(arguments.stages.split(","), arguments.pairs)
    checked = failures = 0
    for example in islice(examples, first - 1, None, count):
        title = str(example).partition("\n")[0]
        if arguments.only in title:
            checked += 1
            found = _failure(example)
            if found is not None:
                failures += 1
                print(f"{title}\n    {found}", flush=True)
    print(f"{checked} examples, {failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
