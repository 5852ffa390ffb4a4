"""Kernels whose warpgroups multiply tiles in shared memory (`ir.warpgroups`), a few steps of the sum ahead of the products.

Threads copy the tiles of each factor element by element or by asynchronous copies, or the copy engine copies them as boxes
(`ir.tensor_copies`). Tiles take turns in a few stages. Groups of products may be pending while the next tiles are copied.
"""

from __future__ import annotations

from functools import cached_property
from textwrap import indent

from hypothesis import strategies as st
from msgspec import Struct

from ...ir.base import IRModule
from ...ir.warpgroups import DEPTH, LINE, ROW, ROWS, WARPGROUP
from ..load import parse
from .choices import Choices

PTX_TYPES = {"float16": "fp16", "bfloat16": "bf16"}
COLUMNS = (8, 16, 24, 40, 64, 72, 136)
"""Numbers of columns of a product."""
WAYS = ("elements", "cp.async", "boxes")
"""How tiles are copied."""
WAIT = 'T.tvm_storage_sync("shared")'


@st.composite
def warpgroup_programs(draw: st.DrawFn) -> IRModule:
    """Generate modules of one function `main(A, B, C)` that computes C = A @ B, with a symbolic number of rows or none."""
    return parse("I.ir_module Module:\n" + indent(_Writer(Choices(draw)).function(), "    "))


class _Factor(Struct):
    """A factor whose tile has `span` rows or columns and `depth` elements along k, in boxes with rows of 64 elements.

    The matrix has `spans` × `k` elements, of which tiles may cover more: other elements are zero.
    """

    name: str
    span: int
    depth: int
    is_deep: bool
    """Whether k is contiguous."""
    spans: str
    k: int
    stride: int
    """Distance of the rows of the matrix in elements."""
    way: str

    @property
    def box_rows(self) -> int:
        """Return the number of rows of a box."""
        return self.span if self.is_deep else self.depth

    @property
    def boxes(self) -> int:
        """Return the number of boxes of a tile."""
        return 1 if self.is_deep else -(-self.span // ROW)

    @property
    def box_size(self) -> int:
        """Return the number of elements of a box, a multiple of 1024 bytes."""
        return self.box_rows * ROW

    @property
    def size(self) -> int:
        """Return the number of elements of a tile."""
        return self.boxes * self.box_size

    @property
    def limits(self) -> tuple[str, str]:
        """Return the numbers of rows and columns of the matrix."""
        return (self.spans, str(self.k)) if self.is_deep else (str(self.k), self.spans)

    @property
    def parameter(self) -> str:
        """Return the shape of the parameter."""
        rows = self.limits[0]
        return f"({_quoted(rows)}, {self.stride})"

    def place(self, box: int, step: str, first: str) -> tuple[str, str]:
        """Return the row and the column of the matrix at which a box of a step starts, for the tile that starts at `first`."""
        if self.is_deep:
            return first, f"{step} * {self.depth}"
        return f"{step} * {self.depth}", f"{first} + {box * ROW}"

    def slice(self, number: int, span: int = 0) -> int:
        """Return the position in a tile of 16 elements along k, from row or column `span` on."""
        if self.is_deep:
            return span * ROW + number * DEPTH
        return span // ROW * self.box_size + span % ROW + number * DEPTH * ROW

    @property
    def distances(self) -> str:
        """Return the leading and the stride byte offset."""
        return "0, 1024" if self.is_deep else f"{2 * self.box_size}, 1024"


class _Writer:
    def __init__(self, choose: Choices) -> None:
        self.choose = choose
        self.dtype = choose.pick(list(PTX_TYPES))
        self.groups = 2 if choose.rarely(4) else 1
        self.threads = WARPGROUP * self.groups
        self.n = choose.pick(COLUMNS[:4] if self.groups > 1 else COLUMNS)
        self.blocks = choose.pick((1, 2)) if self.n < ROW else 1
        self.tiles = 2 if self.blocks == 1 and choose.rarely(5) else 1
        """Number of tiles of 64 or 128 rows that a block computes, one after the other."""
        self.steps, self.stages = choose.number(1, 4), choose.number(1, 4)
        self.ahead = choose.number(0, self.stages - 1)
        """How many steps before its products a tile is copied."""
        self.pending = choose.number(0, min(2, self.stages - 1 - self.ahead))
        """How many groups of products are pending while the next tiles are copied."""
        self.a, self.b = self._factors()
        self.is_arriving = self.has_boxes and choose.rarely(3)
        """Whether all threads arrive at the barrier of a stage in addition to the one that copies boxes."""

    def _factors(self) -> tuple[_Factor, _Factor]:
        """Return the factors. Sizes are multiples of what their tiles and ways of copying need, or less."""
        choose = self.choose
        depth = choose.pick((DEPTH, ROW, 2 * DEPTH))
        k = choose.pick((self.steps * depth, self.steps * depth - 8))
        made: list[_Factor] = []
        rows = self.blocks * self.tiles * self.groups * ROWS
        for name, span, spans in (
            ("A", self.groups * ROWS, (rows, rows - 24, "m")),
            ("B", self.n, (self.n, self.n - 8)),
        ):
            way, is_deep, size = choose.pick(WAYS), choose.pick((True, False)), choose.pick(spans) or self.n
            if size == "m" and not is_deep:
                size = rows  # m is not a multiple of 16 bytes
            contiguous = k if is_deep else int(size)
            stride = contiguous + choose.pick((0, 8, 24))
            made.append(_Factor(name, span, depth, is_deep, str(size), k, stride, way))
        return made[0], made[1]

    @cached_property
    def has_boxes(self) -> bool:
        return "boxes" in (self.a.way, self.b.way)

    def function(self) -> str:
        """Return the text of the function."""
        rows, count = self.a.spans, self.n // 2
        factors = ", ".join(
            f'{factor.name}: T.Buffer({factor.parameter}, "{self.dtype}")' for factor in (self.a, self.b)
        )
        head = [
            f'bx = T.launch_thread("blockIdx.x", {self.blocks})', f'tx = T.launch_thread("threadIdx.x", {self.threads})',
            *(line for factor in (self.a, self.b) for line in self._memory(f"{factor.name}_tile", self.stages * factor.size, self.dtype, "shared.dyn")),
            *self._memory("c", count, "float32", "local"),
        ]  # fmt: skip
        tile = [*self._accumulation(), *self._results()]
        if self.tiles > 1:
            tile = [f"for t in range({self.tiles}):", *_inside([*tile, WAIT])]
        body = [*head, *self._barriers(), *tile]
        return f'T.prim_func main({factors}, C: T.Buffer(({_quoted(rows)}, {self.b.spans}), "float32")):\n' + indent(
            "\n".join(body), "    "
        )

    def _memory(self, name: str, size: int, dtype: str, scope: str) -> list[str]:
        return [
            f'{name} = T.allocate([{size}], "{dtype}", "{scope}")',
            f'{name}_1 = T.Buffer(({size},), "{dtype}", data={name}, scope="{scope}")',
        ]

    def _barriers(self) -> list[str]:
        """Return the initialization of a barrier for each stage, if the copy engine copies."""
        if not self.has_boxes:
            return []
        lines = [
            f"for s in range({self.stages}):",
            f"    T.ptx_init_barrier_thread_count(s, {1 + self.threads * self.is_arriving})",
        ]
        return [f"T.create_barriers({self.stages})", "if tx == 0:", *_inside(lines), WAIT]

    # --- Copies

    def _copies(self, step: str) -> list[str]:
        """Return the copies of the tiles of a step, which has a group of asynchronous copies."""
        lines = [line for factor in (self.a, self.b) for line in self._copy(factor, step)]
        if self.has_boxes:
            size = sum(2 * factor.size for factor in (self.a, self.b) if factor.way == "boxes")
            expected = f"T.ptx_arrive_barrier_expect_tx({self._stage(step)}, {size})"
            boxes = [expected, *(line for factor in (self.a, self.b) for line in self._boxes(factor, step))]
            lines += ["if tx == 0:", *_inside(boxes)]
            lines += [f"T.ptx_arrive_barrier({self._stage(step)})"] * self.is_arriving
        return lines

    def _turn(self, step: str) -> str:
        """Return the number of a step among those of all tiles."""
        return f"(t * {self.steps} + {step})" if self.tiles > 1 else f"({step})"

    def _stage(self, step: str) -> str:
        return f"{self._turn(step)} % {self.stages}"

    def _first(self, factor: _Factor) -> str:
        tile = "t" if self.tiles > 1 else "bx"
        return f"{tile} * {factor.span}" if factor.name == "A" else "0"

    def _boxes(self, factor: _Factor, step: str) -> list[str]:
        if factor.way != "boxes":
            return []
        lines: list[str] = []
        for box in range(factor.boxes):
            row, column = factor.place(box, f"({step})", self._first(factor))
            target = f"{self._stage(step)} * {factor.size} + {box * factor.box_size}"
            sizes = f"{factor.limits[0]}, {factor.limits[1]}, {factor.stride}"
            lines.append(
                f'T.ptx_cp_async_bulk_tensor("{self.dtype}", {factor.name}_tile, {target}, {factor.name}.data, {sizes}, '
                f"{row}, {column}, {factor.box_rows}, {self._stage(step)})"
            )
        return lines

    def _copy(self, factor: _Factor, step: str) -> list[str]:
        """Return the copies of a tile by all threads, elements or 16 bytes at a time."""
        if factor.way == "boxes":
            return []
        width, target = 1 if factor.way == "elements" else LINE, f"{factor.name}_tile"
        count = factor.box_size // width
        lines: list[str] = []
        for box in range(factor.boxes):
            number = self.choose.fresh("e")
            row, column = factor.place(box, f"({step})", self._first(factor))
            place = number if width == 1 else f"{number} * {width}"
            at_row, at_column = f"({row} + {number} // {ROW // width})", f"({column} + {place} % {ROW})"
            swizzled = f"T.bitwise_xor({place}, {number} // {ROW // width} % 8 * {LINE})"
            to = f"{self._stage(step)} * {factor.size} + {box * factor.box_size} + {swizzled}"
            inside = f"{at_row} < {factor.limits[0]} and {at_column} < {factor.limits[1]}"
            if width == 1:
                loaded = f"{factor.name}[{at_row}, {at_column}]"
                copy = f"{target}_1[{to}] = T.if_then_else({inside}, {loaded}, T.{self.dtype}(0))"
            else:
                source = f"{factor.name}.data, {at_row} * {factor.stride} + {at_column}"
                copy = f'T.ptx_cp_async("{self.dtype}", {target}, {to}, {source}, 16, {inside})'
            body = [f"{number}: T.int32 = {number}_0 * {self.threads} + tx", copy]
            rounds = -(-count // self.threads)
            if count % self.threads:
                body = [body[0], f"if {number} < {count}:", "    " + copy]
            lines += [f"for {number}_0 in range({rounds}):", *_inside(body)]
        return lines

    # --- Products

    def _accumulation(self) -> list[str]:
        """Return the loop over the steps, which copies `ahead` steps before the products."""
        lines = [f"for i in range({self.n // 2}):", f"    c_1[i] = T.float32({self.choose.pick((0, 2))})"]
        commit = ["T.ptx_commit_group()"] if "cp.async" in (self.a.way, self.b.way) else []
        if self.ahead:
            first = (
                [f"if p < {self.steps}:", *_inside(self._copies("p"))] if self.ahead > self.steps else self._copies("p")
            )
            lines += [f"for p in range({self.ahead}):", *_inside([*first, *commit])]
        body = self._copies(f"k + {self.ahead}" if self.ahead else "k")
        if self.ahead:
            body = [f"if k + {self.ahead} < {self.steps}:", *_inside(body)]
        body = [*body, *commit, *self._complete(), *self._products()]
        if self.pending > self.stages - self.ahead - 2 or self.choose.rarely(3):
            body.append(WAIT)
        return [*lines, f"for k in range({self.steps}):", *_inside(body), "T.ptx_wgmma_wait_group(0)"]

    def _complete(self) -> list[str]:
        """Return the wait for the tiles of this step."""
        ways = (self.a.way, self.b.way)
        return [
            *([f"T.ptx_wait_group({self.ahead})"] if "cp.async" in ways else []),
            *([f"T.ptx_wait_barrier({self._stage('k')}, {self._turn('k')} // {self.stages} % 2)"] if self.has_boxes else []),
            *(["T.ptx_fence_proxy_async()"] if ways != ("boxes", "boxes") else []), WAIT,
        ]  # fmt: skip

    def _products(self) -> list[str]:
        """Return the products of a step, one of all columns or, for each half of them, one of half the columns."""
        own = self.b.slice
        is_split = self.n % 16 == 0 and (self.b.is_deep or self.n // 2 % ROW == 0) and self.choose.rarely(3)
        parts = (0, self.n // 2) if is_split else (0,)
        columns = self.n // len(parts)
        layouts = f'"{"row" if self.a.is_deep else "col"}", "{"col" if self.b.is_deep else "row"}"'
        kind = PTX_TYPES[self.dtype]
        left = f"{self._stage('k')} * {self.a.size}" + (
            f" + tx // {WARPGROUP} * {self.a.slice(0, ROWS)}" if self.groups > 1 else ""
        )
        right = f"{self._stage('k')} * {self.b.size}"
        lines = ["T.ptx_wgmma_fence()"]
        for number in range(self.a.depth // DEPTH):
            lines += [
                f'T.ptx_wgmma_mma_async("float32", "m64n{columns}k16", {layouts}, "{kind}", "{kind}", "fp32", '
                f"A_tile, {left} + {self.a.slice(number)}, B_tile, {right} + {own(number, start)}, c, {start // 2}, "
                f"{self.a.distances}, {self.b.distances})"
                for start in parts
            ]
        return [*lines, "T.ptx_wgmma_commit_group()", f"T.ptx_wgmma_wait_group({self.pending})"]

    def _results(self) -> list[str]:
        """Return the stores of the elements of the accumulator that are elements of C."""
        row = f"{self._first(self.a)} + tx // 32 * 16 + tx % 32 // 4 + i // 2 % 2 * 8"
        column = "i // 4 * 8 + tx % 4 * 2 + i % 2"
        lines = [
            f"row: T.int32 = {row}", f"column: T.int32 = {column}", f"if row < {self.a.spans} and column < {self.b.spans}:",
            f"    C[row, column] = {self.choose.pick(('c_1[i]', 'T.max(c_1[i], T.float32(0))', 'c_1[i] * T.float32(0.5)'))}",
        ]  # fmt: skip
        return [f"for i in range({self.n // 2}):", *_inside(lines)]


def _quoted(size: str) -> str:
    """Return a size in the signature, where the name of a dimension is a string."""
    return f'"{size}"' if size.isidentifier() else size


def _inside(lines: list[str]) -> list[str]:
    return ["    " + line for line in lines]
