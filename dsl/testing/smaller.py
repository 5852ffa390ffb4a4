"""A user's program with smaller sizes, so that the interpreter can run thousands of examples of it.

A static size in shapes and loops is replaced by a small one at all of its occurrences. A variant is used only if the
verifier accepts it, so the tiles of a program still multiply to its sizes.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import cache

from hypothesis import strategies as st

from ...ir import relax, tir
from ...ir.base import IRModule, Node, Source
from ...ir.diagnostics import error
from ...ir.interp.lanes.sample import work_of
from ...ir.verify import verify
from ...ir.visit import rewrite, walk
from ..load import parse_source

MOST_WORK = 1 << 16
"""Maximum number of innermost iterations of an example."""
_TRIED, _KEPT = 60, 6
_DEFAULT_SMALL = (2, 3, 4, 1, 5, 8)


def programs_in(file: Source, *, is_loop_level: bool = False) -> st.SearchStrategy[IRModule]:
    """Return a strategy of the program in a file, in several sizes, smallest first.

    E0813 if a run of it takes too long and no smaller variant was found, or if the law `is_loop_level` but the program
    has no loop-level function.
    """
    programs = smaller_programs(file)
    if is_loop_level:
        loop_entry(programs[0])
    return st.sampled_from(programs)


@cache
def smaller_programs(file: Source) -> tuple[IRModule, ...]:
    """Return smaller variants of the program in a file, least work first, and the program itself if it is small enough."""
    module = parse_source(file)
    own = _work(module)
    found = [
        candidate for candidate in _candidates(module) if _work(candidate) <= MOST_WORK and not _is_broken(candidate)
    ]
    ordered = sorted(found[:_KEPT], key=_work)
    if own <= MOST_WORK or not (ordered or own <= 16 * MOST_WORK):
        ordered.append(module)
    if own > 16 * MOST_WORK and ordered == [module]:
        message = f"one example of this program takes {own:.1e} iterations, and no smaller sizes were found"
        raise error("E0813", message, None, "fuzz a copy with small sizes, or with symbolic ones")
    return tuple(ordered)


def loop_entry(module: IRModule) -> str:
    """Return the name of the loop-level function to check: `main`, or else the first one; E0813 if there is none."""
    names = [name for name, function in module.functions.items() if isinstance(function, tir.PrimFunc)]
    if not names:
        raise error(
            "E0813",
            "this law requires a loop-level function, and the program has none",
            None,
            "give one with a T.prim_func",
        )
    return "main" if "main" in names else names[0]


def _work(module: IRModule) -> int:
    functions = [function for function in module.functions.values() if isinstance(function, tir.PrimFunc)]
    elements = [_elements(node) for function in module.functions.values() for node in walk(function)]
    return max([*map(work_of, functions), *elements], default=0)


def _elements(node: Node) -> int:
    """Return the number of elements of a tensor of static shape."""
    if not (isinstance(node, relax.TensorStructInfo) and isinstance(node.shape, relax.ShapeExpr)):
        return 0
    total = 1
    for size in node.shape.values:
        total *= size.value if isinstance(size, tir.IntImm) else 1
    return total


def _is_broken(module: IRModule) -> bool:
    return any(diagnostic.severity == "error" for diagnostic in verify(module))


def _candidates(module: IRModule) -> Iterator[IRModule]:
    """Yield the program with other sizes: first all divided by one number, then each changed individually at random."""
    sizes = sorted(_sizes(module))
    if not sizes:
        return
    for scale in (64, 32, 16, 8, 4, 2):
        if any(size % scale == 0 and size > scale for size in sizes):
            yield _with_sizes(module, {size: size // scale for size in sizes if size % scale == 0})
    chosen = random.Random(0)
    for _ in range(_TRIED):
        small = {
            size: chosen.choice([number for number in (*_DEFAULT_SMALL, size) if number <= size]) for size in sizes
        }
        yield _with_sizes(module, small)


def _sizes(module: IRModule) -> set[int]:
    """Return the numbers above 1 that are sizes of shapes, loops and axes."""
    found: set[int] = set()
    for node in (node for function in module.functions.values() for node in walk(function)):
        match node:
            case tir.For(extent=tir.IntImm(value=size)) | tir.Range(extent=tir.IntImm(value=size)):
                found.add(size)
            case tir.Buffer(shape=shape) | tir.Allocate(extents=shape) | relax.ShapeExpr(values=shape):
                found.update(size.value for size in shape if isinstance(size, tir.IntImm))
            case _:
                pass
    return {size for size in found if size > 1}


def _with_sizes(module: IRModule, sizes: dict[int, int]) -> IRModule:
    def smaller(node: Node) -> Node | None:
        if not isinstance(node, tir.IntImm) or node.value not in sizes:
            return None
        return tir.IntImm(node.dtype, sizes[node.value], span=node.span)

    return rewrite(module, smaller)
