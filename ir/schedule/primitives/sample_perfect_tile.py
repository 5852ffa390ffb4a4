"""`sample_perfect_tile`: choose factors for `split` at random."""

from __future__ import annotations

from ..analysis.tiling import check_count, check_decision, constant_extent, perfect_tile, refitted
from ..arguments import Integer, Integers, Loop
from ..conditions import ARGUMENT
from ..declaration import primitive
from ..program import Program


@primitive(results=("factor",), query=True)
def sample_perfect_tile(
    program: Program, loop: Loop, n: Integer, max_innermost_factor: Integer = 16, decision: Integers | None = None
) -> list[int | None]:
    """Choose `n` factors at random whose product is the extent of a loop. The last one is at most
    `max_innermost_factor` (-1: unlimited). All distributions of the prime factors are equally likely. `decision`
    repeats an earlier choice; if the extent has changed, factors that no longer divide it are adapted.

    If the extent is not constant, the first factor is None, which `split` infers, and all others are 1.

    Preserves: everything; the choice is part of the trace.
    """
    check_count(n)
    extent = constant_extent(loop)
    if decision is not None:
        check_decision(decision, n)
    if extent is None:
        factors = [-1, *[1] * (n - 1)]
    elif decision is not None:
        factors = refitted(decision, extent)
    else:
        factors = _sampled(program, extent, n, max_innermost_factor)
    program.decision = tuple(factors)
    return [None if factor == -1 else factor for factor in factors]


def _sampled(program: Program, extent: int, n: int, largest: int) -> list[int]:
    if largest != -1 and (largest < 1 or (n == 1 and extent > largest)):
        reason = f"{extent} is not a product of {n} factors with a last one of at most {largest}"
        raise ARGUMENT.refuse(reason, argument="max_innermost_factor", help="give a larger limit, or -1 for no limit")
    while True:
        factors = perfect_tile(program.random, extent, n)
        if largest == -1 or factors[-1] <= largest:
            return factors
