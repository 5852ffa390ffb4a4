"""Kernels that keep the law, each with a twin that breaks it in one line: out of bounds, by a race, a region, an axis.

A family returns the right text and the broken one; the line that breaks the law ends in `FAULT`.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import NamedTuple

FAULT = "  # the fault"


class Pair(NamedTuple):
    """A kernel, its broken twin, and the code that tells of the break."""

    right: str
    wrong: str
    code: str


def _function(params: dict[str, tuple[object, ...]], body: str, sizes: str = "") -> str:
    """Return a function of float32 buffers; with `sizes`, its dimensions are that symbolic variable, too."""
    if not sizes:
        heads = [f'{name}: T.Buffer(({", ".join(map(str, shape))},), "float32")' for name, shape in params.items()]
        return f"T.prim_func main({', '.join(heads)}):\n{_indented(body)}"
    heads = [f"{name.lower()}: T.handle" for name in params]
    shapes = [f"{sizes} = T.int32()"]
    for name, shape in params.items():
        dimensions = ", ".join(map(str, shape))
        shapes.append(f'{name} = T.match_buffer({name.lower()}, ({dimensions},), "float32")')
    return f"T.prim_func main({', '.join(heads)}):\n{_indented(chr(10).join(shapes) + chr(10) + body)}"


def _indented(text: str) -> str:
    return "".join(f"    {line}\n" for line in text.splitlines())


def tiled(random: Random) -> Pair:
    """An elementwise kernel in tiles whose last one is not full, guarded in one of several ways."""
    tile = random.randint(2, 9)
    n = random.randint(tile + 1, 60)
    while n % tile == 0:
        n += 1
    is_symbolic = random.random() < 0.3
    size = "n" if is_symbolic else str(n)
    count = f"(n + {tile - 1}) // {tile}" if is_symbolic else str(-(-n // tile))
    index = f"i * {tile} + j"
    strict, loose = (
        f"{index} < {size}",
        random.choice((f"{index} <= {size}", f"{index} < {size} + {random.randint(1, tile)}")),
    )
    kind = random.choice(("if", "where", "select", "clamp", "likely"))

    def text(guard: str, mark: str) -> str:
        loop = f"for i, j in T.grid({count}, {tile}):\n"
        match kind:
            case "if":
                return f"{loop}    if {guard}:\n        B[{index}] = T.float32(1){mark}\n"
            case "likely":
                return f"{loop}    if T.likely({guard}):\n        B[{index}] = T.float32(1){mark}\n"
            case "where":
                block = f"        v = T.axis.spatial({size}, {index}){mark}\n        T.where({guard})\n"
                return f'{loop}    with T.block("b"):\n{block}        B[v] = A[v]\n'
            case "select":
                return f"{loop}    C[i, j] = T.if_then_else({guard}, A[{index}], T.float32(0)){mark}\n"
            case _:
                top = f"{size} - 1" if guard == strict else size
                return f"{loop}    C[i, j] = A[T.min({index}, {top})]{mark}\n"

    shapes: dict[str, tuple[object, ...]] = {"A": (size,), "B": (size,), "C": (count, tile)}
    code = "E0415" if kind == "where" else "E0414"
    variable = "n" if is_symbolic else ""
    return Pair(_function(shapes, text(strict, ""), variable), _function(shapes, text(loose, FAULT), variable), code)


def stencil(random: Random) -> Pair:
    """A window over a padded buffer; one tap, or the loop, goes one too far."""
    width, n, stride = random.randint(1, 5), random.randint(2, 30), random.randint(1, 3)
    size = (n - 1) * stride + width
    dilated = random.choice((f"i * {stride} + k", f"k + {stride} * i"))
    by = random.choice((1, 2, -1, -2))
    shift = f" + {by}" if by > 0 else f" - {-by}"

    def text(index: str, mark: str) -> str:
        return f"for i, k in T.grid({n}, {width}):\n    B[i] = B[i] + A[{index}]{mark}\n"

    shapes: dict[str, tuple[object, ...]] = {"A": (size,), "B": (n,)}
    return Pair(_function(shapes, text(dilated, "")), _function(shapes, text(dilated + shift, FAULT)), "E0414")


def fused(random: Random) -> Pair:
    """A loop fused from two, whose quotients and remainders index a matrix; a wrong divisor or extent breaks it."""
    rows, columns = random.randint(2, 12), random.randint(3, 12)
    total = rows * columns

    def text(extent: int, divisor: int, remainder: int, mark: str) -> str:
        return f"for f in range({extent}):\n    B[f // {divisor}, f % {remainder}] = A[f // {divisor}, f % {remainder}]{mark}\n"

    extent, divisor, remainder = random.choice(
        ((total + random.randint(1, 3), columns, columns), (total, columns - 1, columns), (total, columns, columns + 1))
    )
    shapes: dict[str, tuple[object, ...]] = {"A": (rows, columns), "B": (rows, columns)}
    right, wrong = text(total, columns, columns, ""), text(extent, divisor, remainder, FAULT)
    return Pair(_function(shapes, right), _function(shapes, wrong), "E0414")


def product(random: Random) -> Pair:
    """A matrix product; its reduction is called spatial, or a region is too small or beside what is written."""
    n, m, k = random.sample(range(2, 12), 3)
    fault = random.choice(("axis", "region", "beside", "swapped"))

    def text(kinds: str, writes: str, factor: str, init: bool, marks: tuple[str, str, str]) -> str:
        start = f"        with T.init():\n            C[vi, vj] = T.float32(0){marks[1]}\n" if init else ""
        return (
            f'for i, j, k in T.grid({n}, {m}, {k}):\n    with T.block("product"):\n'
            f'        vi, vj, vk = T.axis.remap("{kinds}", [i, j, k])\n'
            f"        T.reads(A[vi, vk], B[vk, vj])\n        T.writes({writes})\n{start}"
            f"        C[vi, vj] = C[vi, vj] + {factor} * B[vk, vj]{marks[0]}\n"
        )

    init = fault != "axis"
    right = text("SSR", "C[vi, vj]", "A[vi, vk]", init, ("", "", ""))
    kinds, writes, factor = "SSR", "C[vi, vj]", "A[vi, vk]"
    marks = (FAULT, "", "")
    match fault:
        case "axis":
            kinds = "SSS"
        case "region":
            writes, marks = "C[vi, 0]", ("", FAULT, "")
        case "beside":
            writes, marks = f"C[vi, T.min(vj + 1, {m - 1})]", ("", FAULT, "")
        case _:
            factor = "A[vk, vi]"
    wrong = text(kinds, writes, factor, init, marks)
    shapes: dict[str, tuple[object, ...]] = {"A": (n, k), "B": (k, m), "C": (n, m)}
    code = {"axis": "E0421", "swapped": "E0414"}.get(fault, "E0413")
    return Pair(_function(shapes, right), _function(shapes, wrong), code)


_LOOPS = ("T.parallel({n})", "T.vectorized({n})", 'T.thread_binding({n}, thread="blockIdx.x")',
          'T.thread_binding({n}, thread="threadIdx.x")')  # fmt: skip


def side_by_side(random: Random) -> Pair:
    """A loop whose iterations run side by side: they come to share an element, or read what a neighbor writes."""
    n, m = random.randint(2, 20), random.randint(1, 5)
    loop = random.choice(_LOOPS).format(n=n)
    kind = random.choice(("shared", "sum", "neighbor", "mixed"))
    head = f"for i in {loop}:\n    for j in range({m}):\n        "
    by = random.randint(2, 4)
    match kind:
        case "shared":
            right, wrong = "B[i, j] = A[i, j]", f"B[i // {by}, j] = A[i, j]"
        case "sum":
            right, wrong = "B[i, 0] = B[i, 0] + A[i, j]", "B[0, j] = B[0, j] + A[i, j]"
        case "neighbor":
            right, wrong = "B[i, j] = B[i, j] * A[i, j]", "B[i + 1, j] = B[i, j] * A[i, j]"
        case _:
            right, wrong = f"B[{n - 1} - i, j] = A[i, j]", f"B[i % {max(1, n - 1)}, j] = A[i, j]"
    shapes: dict[str, tuple[object, ...]] = {"A": (n, m), "B": (n + 1, m)}
    return Pair(_function(shapes, f"{head}{right}\n"), _function(shapes, f"{head}{wrong}{FAULT}\n"), "E0419")


def scan(random: Random) -> Pair:
    """A block that only shifts, and a twin that depends on what its own axis has written before."""
    n, by = random.randint(3, 20), random.randint(1, 2)

    def text(source: str, mark: str) -> str:
        return (
            f'for i in range({n}):\n    with T.block("scan"):\n        vi = T.axis.spatial({n}, i)\n'
            f"        B[vi + {by}] = {source} + A[vi]{mark}\n"
        )

    shapes: dict[str, tuple[object, ...]] = {"A": (n,), "B": (n + by,)}
    return Pair(_function(shapes, text(f"B[vi + {by}]", "")), _function(shapes, text("B[vi]", FAULT)), "E0421")


FAMILIES: tuple[Callable[[Random], Pair], ...] = (tiled, stencil, fused, product, side_by_side, scan)


def pair(seed: int) -> Pair:
    """Return the pair of `seed`."""
    random = Random(seed)
    return random.choice(FAMILIES)(random)
