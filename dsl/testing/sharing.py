"""Kernels whose threads share reductions to several values: pairs of sums, argmax and argmin, means with sums of squared differences.

Values are integers, many of which are equal: NaN and infinities would make a result depend on the order.
"""

from __future__ import annotations

from textwrap import indent

from hypothesis import strategies as st

from ...ir.base import IRModule
from ..load import parse
from .choices import Choices

THREADS = ((4, 1), (32, 1), (8, 4), (7, 1), (64, 1), (16, 3), (96, 1), (32, 4))
"""Numbers of threads that share a reduction, along x and y."""


@st.composite
def shared_reductions(draw: st.DrawFn) -> IRModule:
    """Generate modules of one function `main(A, B, C)` that reduces rows of A to elements of B and C; means also write D."""
    return parse("I.ir_module Module:\n" + indent(_function(Choices(draw)), "    "))


def _function(choose: Choices) -> str:
    x, y = choose.pick(THREADS)
    rows, depth = choose.number(1, 3), choose.pick((64, 1, 5, 33, 97, 128))
    kind = choose.pick(("sums", "lowest", "first", "moments"))
    dtype = choose.pick(("int32", "float32")) if kind == "sums" else "int32"
    is_split = choose.pick((False, True))
    others = choose.pick((1, 2)) if is_split else 1
    place = f"r * {x * y} + " + (f"(ty * {x} + tx)" if y > 1 else "tx")
    steps = -(-depth // (x * y))
    lines = [
        f'T.prim_func main(A: T.Buffer(({rows}, {others}, {depth}), "{dtype}"), B: T.Buffer(({rows},), "int32"), '
        f'C: T.Buffer(({rows},), "{"float32" if kind == "moments" else dtype}")'
        + (f', D: T.Buffer(({rows},), "float32")):' if kind == "moments" else "):")
    ]
    loops = [
        f'i in T.thread_binding({rows}, thread="blockIdx.x")',
        *([f"q in range({others})"] if is_split else []), f"r in range({steps})",
        *([f'ty in T.thread_binding({y}, thread="threadIdx.y")'] if y > 1 else []), f'tx in T.thread_binding({x}, thread="threadIdx.x")',
    ]  # fmt: skip
    for level, loop in enumerate(loops, 1):
        lines.append("    " * level + f"for {loop}:")
    axes = [f"vi = T.axis.spatial({rows}, i)"]
    axes += [f"vq = T.axis.reduce({others}, q)"] if is_split else []
    axes += [
        f"vk = T.axis.reduce({depth}, {place})",
        *([f"T.where({place} < {depth})"] if steps * x * y != depth else []),
    ]
    body = [*axes, *_update(choose, kind, dtype, f"A[vi, {'vq' if is_split else '0'}, vk]", is_split)]
    return "\n".join(
        [
            *lines,
            "    " * (len(loops) + 1) + 'with T.block("both"):',
            *["    " * (len(loops) + 2) + line for line in body],
        ]
    )


def _update(choose: Choices, kind: str, dtype: str, value: str, is_split: bool) -> list[str]:
    """Return the T.init and the update of a block."""
    if kind == "moments":
        return _moments(choose, f'T.Cast("float32", {value})')
    kind = "lowest" if kind == "first" and is_split else kind
    is_greatest = choose.pick((True, False))
    better, keeps = (">", ">=") if is_greatest else ("<", "<=")
    if kind == "sums":
        start, first = f"T.{dtype}(0)", "0"
        number = value if dtype == "int32" else f'T.Cast("int32", {value})'
        updates = f"B[vi] + {number}", f"C[vi] + {value} * {value}"
    else:
        start, first = f'T.{"min" if is_greatest else "max"}_value("{dtype}")', "-1"
        wins = (
            f"C[vi] {better} {value} or C[vi] == {value} and B[vi] < vk"
            if kind == "lowest"
            else f"C[vi] {keeps} {value}"
        )
        held = f"C[vi] {better} {value}" if kind == "lowest" else wins
        updates = f"T.Select({wins}, B[vi], vk)", f"T.Select({held}, C[vi], {value})"
    return [
        "with T.init():", f"    B[vi] = {first}", f"    C[vi] = {start}", f"b: T.int32 = {updates[0]}", f"c: T.{dtype} = {updates[1]}",
        "B[vi] = b", "C[vi] = c",
    ]  # fmt: skip


def _moments(choose: Choices, x: str) -> list[str]:
    """Return the T.init and the update of a count B, a mean C, and a sum D of squared differences."""
    init = ["with T.init():", "    B[vi] = 0", "    C[vi] = T.float32(0)", "    D[vi] = T.float32(0)"]
    n = 'T.Cast("float32", B[vi])'
    difference = f"d: T.float32 = {x} - C[vi]"
    ways = (
        [difference, f"C[vi] = C[vi] + d / {n}", f"D[vi] = D[vi] + d * ({x} - C[vi])"],
        [f"D[vi] = D[vi] + ({x} - C[vi]) * ({x} - C[vi]) * ({n} - T.float32(1)) / {n}", f"C[vi] = (C[vi] * ({n} - T.float32(1)) + {x}) / {n}"],
    )  # fmt: skip
    return [*init, "B[vi] = B[vi] + 1", *choose.pick(ways)]
