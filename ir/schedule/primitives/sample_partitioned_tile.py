"""`sample_partitioned_tile`: choose factors for `split` at random; the inner ones are multiples of a given number."""

from __future__ import annotations

from math import prod

from ..analysis.tiling import check_count, check_decision, constant_extent, perfect_tile, refitted
from ..arguments import Integer, Integers, Loop
from ..conditions import ARGUMENT
from ..declaration import primitive
from ..program import Program


@primitive(results=("factor",), query=True)
def sample_partitioned_tile(
    program: Program,
    loop: Loop,
    n: Integer,
    partition_pos: Integer = 0,
    innerpart_factor: Integer = 1,
    decision: Integers | None = None,
) -> list[int | None]:
    """Choose `n` factors at random whose product is the extent of a loop. The product of those from index
    `partition_pos` on is a multiple of `innerpart_factor`. `decision` repeats an earlier choice, as in
    `sample_perfect_tile`.

    If the extent is not constant or not a multiple of `innerpart_factor`, the first factor is None, which `split`
    infers, and all others are 1.

    Preserves: everything; the choice is part of the trace.
    """
    check_count(n)
    _check_part(n, partition_pos, innerpart_factor)
    extent = constant_extent(loop)
    if decision is not None:
        check_decision(decision, n)
    if extent is None or extent % innerpart_factor:
        factors = [-1, *[1] * (n - 1)]
    elif decision is None:
        factors = perfect_tile(program.random, extent, n)
        while prod(factors[partition_pos:]) % innerpart_factor:
            factors = perfect_tile(program.random, extent, n)
    elif prod(decision[partition_pos:]) % innerpart_factor:
        factors = [1] * n
        factors[0], factors[partition_pos] = extent // innerpart_factor, innerpart_factor
    else:
        factors = refitted(decision, extent)
    program.decision = tuple(factors)
    return [None if factor == -1 else factor for factor in factors]


def _check_part(n: int, position: int, divisor: int) -> None:
    if not 0 <= position < n:
        help = f"give one from 0 to {n - 1}"
        raise ARGUMENT.refuse(
            f"position {position} is out of range for {n} factors", argument="partition_pos", help=help
        )
    if divisor < 1:
        raise ARGUMENT.refuse(
            f"expected a positive number, got {divisor}", argument="innerpart_factor", help="give a positive number"
        )
