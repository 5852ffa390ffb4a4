"""Programs of GPU threads with explicit barriers and without races.

A kernel consists of phases with barriers between them: in one phase each thread writes its own element of a shared
buffer, in the next ones all threads read any of its elements, or a warp multiplies tiles of them. Between barriers, threads
diverge: conditions and loops that differ, local memory, shuffles and matrix products within a warp, block-wide sums, atomic
additions, asynchronous copies that are pending.
"""

from __future__ import annotations

from textwrap import indent

from hypothesis import strategies as st

from ...ir.base import IRModule
from ..load import parse
from .choices import Choices

SIZES = ((4, 1), (1, 1), (2, 2), (8, 1), (3, 3), (33, 1), (16, 3))
WARPS = ((32, 1), (16, 2), (8, 4), (64, 1))
"""Numbers of threads of a block along x and y; they form whole warps."""
BLOCKS = 2
_EVERY = "T.uint32(0xFFFFFFFF)"
_WAIT = 'T.tvm_storage_sync("shared")'
_TILE = 256
"""Elements of a tile of a warp."""


@st.composite
def thread_programs(draw: st.DrawFn) -> IRModule:
    """Generate modules of one function `main(A, B, N)`: threads add to N atomically, and store their results to B."""
    return parse("I.ir_module Module:\n" + indent(_Writer(Choices(draw)).function(), "    "))


class _Writer:
    def __init__(self, choose: Choices) -> None:
        self.choose = choose
        self.is_warps = choose.pick((False, True))
        self.x, self.y = choose.pick(WARPS if self.is_warps else SIZES)
        self.count = self.x * self.y
        self.virtual = choose.pick((0, 0, 2, 3))
        """Number of virtual threads, each with its own shared memory; 0 if there are none."""
        row = f"bx * {self.virtual} + vx" if self.virtual else "bx"
        self.own = f"[{row}, t]"
        """Indices of the element of this thread in A and B."""
        self.place = f"({row}) * {self.count} + t"
        """Position of that element."""
        self.has_tiles = self.is_warps and self.x % 32 == 0
        """Whether each warp has a tile of float16 and one of float32 in shared memory."""
        self.readable: list[str] = []
        """Shared buffers that all threads may read in this phase."""
        self.loops: list[str] = []
        """Variables with the same value in all threads."""
        self.values: list[str] = []
        """Variables of this thread."""

    def function(self) -> str:
        """Return the text of the function."""
        found = "L[0] + L[1] * T.float32(0.5) + L[2] * T.float32(0.25)"
        end = [_WAIT] if self.virtual else []
        lines = [*self._phases(self.choose.number(1, 4), 0), f"B{self.own} = {found} + {self._value(2)}", *end]
        body, rows = "\n".join(lines), BLOCKS * max(self.virtual, 1)
        own = f"ty * {self.x} + tx" if self.y > 1 else "tx"
        launch_virtual = f'vx = T.launch_thread("vthread", {self.virtual})\n' if self.virtual else ""
        launch_y = f'ty = T.launch_thread("threadIdx.y", {self.y})\n' if self.y > 1 else ""
        return (
            f'T.prim_func main(A: T.Buffer(({rows}, {self.count}), "float32"), '
            f'B: T.Buffer(({rows}, {self.count}), "float32"), N: T.Buffer((3,), "int32")):\n'
            + indent(
                f'bx = T.launch_thread("blockIdx.x", {BLOCKS})\n'
                f"{launch_virtual}"
                f'S_data = T.allocate([{self.count}], "float32", "shared")\n'
                f'R_data = T.allocate([{self.count}], "float32", "shared")\n'
                f"{self._tiles()}"
                f'{launch_y}tx = T.launch_thread("threadIdx.x", {self.x})\n'
                'L_data = T.allocate([3], "float32", "local")\n'
                f'S = T.Buffer(({self.count},), data=S_data, scope="shared")\n'
                f'R = T.Buffer(({self.count},), data=R_data, scope="shared")\n'
                'L = T.Buffer((3,), data=L_data, scope="local")\n'
                f"t: T.int32 = {own}\n"
                f"for i in range(3):\n    L[i] = A{self.own} + T.Cast(\"float32\", i)\n"
                f"{body}",
                "    ",
            )
        )  # fmt: skip

    def _tiles(self) -> str:
        """Return the allocations of the tiles."""
        size = self.count // 32 * _TILE
        return "".join(
            f'{name}_data = T.allocate([{size}], "{dtype}", "shared")\n'
            f'{name} = T.Buffer(({size},), "{dtype}", data={name}_data, scope="shared")\n'
            for name, dtype in (("H", "float16"), ("G", "float32"))
            if self.has_tiles
        )

    # --- What all threads do

    def _phases(self, count: int, depth: int) -> list[str]:
        lines: list[str] = []
        for _ in range(count):
            kind = self.choose.number(0, 11) if depth < 2 else 0
            if kind <= 4:
                lines += self._copied() if self.choose.rarely(4) else self._phase()
            elif kind == 5:
                lines += self._loop(depth)
            elif kind == 6:
                lines += self._uniform_branch(depth)
            elif kind == 7:
                lines += self._apart(0)
            elif kind == 8 or not self.is_warps:
                lines += self._sum()
            elif self.has_tiles and self.choose.pick((True, False)):
                lines += self._tile_product()
            else:
                lines += self._product() if self.choose.rarely(3) else self._shuffle()
        return lines

    def _phase(self) -> list[str]:
        """Write the thread's own element of a shared buffer. After the barrier all threads may read it, and none may write it."""
        name = self.choose.pick(("S", "R"))
        before = [_WAIT] if name in self.readable else []
        self.readable = [key for key in self.readable if key != name]
        write = f"{name}[t] = {self._value(2)}"
        self.readable.append(name)
        return [*before, write, _WAIT, *self._apart(0)]

    def _copied(self) -> list[str]:
        """Copy the thread's own element asynchronously to one or both shared buffers, a group for each, and wait for them in turn."""
        names = self.choose.pick((["S"], ["R"], ["S", "R"], ["R", "S"]))
        lines = [_WAIT] if set(names) & {*self.readable} else []
        self.readable = [name for name in self.readable if name not in names]
        for name in names:
            condition = self.choose.pick(("", "", f", {self._condition()}"))
            lines += [
                f'T.ptx_cp_async("float32", {name}_data, t, A.data, {self.place}, 4{condition})',
                "T.ptx_commit_group()",
            ]
        for pending, name in reversed([*enumerate(reversed(names))]):
            lines += [*self._apart(0), f"T.ptx_wait_group({pending})", _WAIT]
            self.readable.append(name)
        return [*lines, *self._apart(0)]

    def _tile_product(self) -> list[str]:
        """Multiply tiles of warps in shared memory, as fragments or by `ldmatrix`, or move them; all threads read elements of the result."""
        choose, name = self.choose, self.choose.fresh("f")
        own = f"t // 32 * {_TILE}"
        left, right = choose.pick((own, "0")), choose.pick((own, "0"))
        start = [
            _WAIT, "for i in range(8):", f'    H[t * 8 + i] = T.Cast("float16", {self._value(1)} + T.Cast("float32", i))', _WAIT,
        ]  # fmt: skip
        product = choose.pick((self._fragments, self._matrices, self._moved_matrices))(name, left, right)
        end = [
            _WAIT,
            self._note(f"G[{choose.pick((f't // 32 * {_TILE} + t % 32 * 8', f'{self.count * 8 - 1} - t', '0'))}]"),
        ]
        return [*start, *product, *end]

    def _fragments(self, name: str, left: str, right: str) -> list[str]:
        scopes = (("a", "float16", "matrix_a"), ("b", "float16", "matrix_b"), ("c", "float32", "accumulator"))
        layouts = ("row_major", "col_major")
        load = 'T.tvm_load_matrix_sync({}_{}, 16, 16, 16, 0, T.address_of(H[{}]), 16, "{}")'
        stored = f't // 32 * {_TILE}]), 16, "{self.choose.pick(layouts)}")'
        return [
            *(f'{name}_{key} = T.allocate([{_TILE}], "{dtype}", "wmma.{scope}")' for key, dtype, scope in scopes),
            load.format(name, "a", left, self.choose.pick(layouts)), load.format(name, "b", right, self.choose.pick(layouts)),
            f"T.tvm_fill_fragment({name}_c, 16, 16, 16, 0, T.float32({self.choose.pick((0, 2))}))",
            *([f"T.tvm_mma_sync({name}_c, 0, {name}_a, 0, {name}_b, 0, {name}_c, 0)"] * self.choose.number(1, 2)),
            f"T.tvm_store_matrix_sync({name}_c, 16, 16, 16, 0, T.address_of(G[{stored}",
        ]  # fmt: skip

    def _matrices(self, name: str, left: str, right: str) -> list[str]:
        sizes = (("a", "float16", 8), ("b", "float16", 4), ("c", "float32", 4))
        columns = self.choose.pick((0, 8))
        row = "t % 16 * 16"
        load = 'T.ptx_ldmatrix("float16", {}, {}, ".b16", {}_{}, 0, H_data, {})'
        turned = [f"T.bool({self.choose.pick((False, True))})" for _ in range(2)]
        return [
            *(f'{name}_{key} = T.allocate([{size}], "{dtype}", "local")' for key, dtype, size in sizes),
            f'{name}_r = T.Buffer((4,), "float32", data={name}_c, scope="local")', "for i in range(4):", f"    {name}_r[i] = T.float32(1)",
            load.format(turned[0], 4, name, "a", f"{left} + {row} + t % 32 // 16 * 8"),
            load.format(turned[1], 2, name, "b", f"{right} + {row} + {columns}"),
            f'T.ptx_mma("float32", "m16n8k16", "row", "col", "fp16", "fp16", "fp32", {name}_a, 0, {name}_b, 0, {name}_c, 0, False)',
            "for i in range(8):", f"    G[t * 8 + i] = {name}_r[i % 4] * T.float32(0.5)",
        ]  # fmt: skip

    def _moved_matrices(self, name: str, source: str, _: str) -> list[str]:
        """Load matrices of a tile and store them to the tile of the warp."""
        count = self.choose.pick((1, 2, 4))
        row, own = "t % 16 * 16 + t % 32 // 16 * 8", f"t // 32 * {_TILE}"
        turned = [f"T.bool({self.choose.pick((False, True))})" for _ in range(2)]
        return [
            f'{name}_m = T.allocate([8], "float16", "local")',
            f'T.ptx_ldmatrix("float16", {turned[0]}, {count}, ".b16", {name}_m, 0, H_data, {source} + {row})', _WAIT,
            f'T.ptx_stmatrix("float16", {turned[1]}, {count}, ".b16", {name}_m, 0, H_data, {own} + {row})', _WAIT,
            "for i in range(8):", '    G[t * 8 + i] = T.Cast("float32", H[t * 8 + i])',
        ]  # fmt: skip

    def _loop(self, depth: int) -> list[str]:
        """Return a loop of phases between barriers. No buffer is readable after it."""
        name, before = self.choose.fresh("k"), list(self.readable)
        self.loops.append(name)
        self.readable = []
        body = self._phases(self.choose.number(1, 2), depth + 1)
        self.loops.remove(name)
        self.readable = []
        turns = self.choose.number(1, 3)
        return [*([_WAIT] if before else []), f"for {name} in range({turns}):", *_inside([*body, _WAIT])]

    def _uniform_branch(self, depth: int) -> list[str]:
        """Return a branch on the block index. No buffer is readable after it, and all threads wait before it."""
        before = list(self.readable)
        self.readable = []
        body = self._phases(1, depth + 1)
        self.readable = []
        return [*([_WAIT] if before else []), "if bx == 0:", *_inside([*body, _WAIT])]

    def _sum(self) -> list[str]:
        """Reduce over the threads of the block by sum or maximum."""
        total = self.choose.fresh("sum")
        combine, start = self.choose.pick((("x + y", "0"), ("T.max(x, y)", "-1000")))
        threads = self.choose.pick((["tx"], ["ty", "tx"])) if self.y > 1 else ["tx"]
        return [
            f'{total}_data = T.allocate([1], "float32", "local")',
            f'{total} = T.Buffer((1,), data={total}_data, scope="local")',
            f"with T.attr(T.comm_reducer(lambda x, y: {combine}, [T.float32({start})]), "
            '"reduce_scope", T.reinterpret("handle", T.uint64(0))):',
            f"    T.tvm_thread_allreduce(T.uint32(1), {self._value(1)}, {self._condition()}, {total}[0], {', '.join(threads)})",
            self._note(f"{total}[0] * T.float32(0.125)"),
        ]  # fmt: skip

    def _shuffle(self) -> list[str]:
        """Read a value of another thread of the warp, in all warps of the block or in the first one."""
        lines: list[str] = []
        for kind in self.choose.pick((("_down", "_up"), ("_xor", ""), ("", "_up"), ("_xor", "_down"))):
            name, operand = (
                self.choose.fresh("w"),
                self.choose.pick(("5", "tx % 7") if not kind else ("1", "4", "2", "7")),
            )
            width = self.choose.pick((16, 32, 8))
            call = f"T.tvm_warp_shuffle{kind}({_EVERY}, A{self.own} + {self._value(1)}, {operand}, {width}, 32)"
            lines += [f"{name}: T.float32 = {call}", self._note(name)]
        return ["if t < 32:", *_inside(lines)] if self.choose.rarely(3) else lines

    def _product(self) -> list[str]:
        """Multiply matrices whose elements the threads of a warp hold, in all warps of the block or in the first one."""
        name = self.choose.fresh("m")
        shape, kind, ptx_type, count = self.choose.pick(
            (("m16n8k16", "float16", "fp16", 8), ("m16n8k8", "bfloat16", "bf16", 4))
        )
        lines: list[str] = []
        for matrix, dtype, size in (("a", kind, count), ("b", kind, count // 2), ("c", "float32", 4)):
            lines += [
                f'{name}_{matrix} = T.allocate([{size}], "{dtype}", "local")',
                f'{name}_{matrix}1 = T.Buffer(({size},), "{dtype}", data={name}_{matrix}, scope="local")',
                f"for i in range({size}):",
                f'    {name}_{matrix}1[i] = T.Cast("{dtype}", {self._value(1)} + T.Cast("float32", i))',
            ]
        pointers = ", ".join(f"{name}_{matrix}, 0" for matrix in "abc")
        lines += [
            f'T.ptx_mma("float32", "{shape}", "row", "col", "{ptx_type}", "{ptx_type}", "fp32", {pointers}, False)',
            self._note(f"{name}_c1[{self.choose.number(0, 3)}] * T.float32(0.0625)"),
        ]
        return ["if t < 32:", *_inside(lines)] if self.choose.rarely(3) else lines

    def _note(self, found: str) -> str:
        """Add a value to the result of this thread, which decays by a constant factor."""
        place = f"L[{self.choose.number(0, 2)}]"
        return f"{place} = {place} * T.float32(0.5) + {found}"

    # --- What one thread does

    def _apart(self, depth: int) -> list[str]:
        kind = self.choose.number(0, 6)
        if kind <= 1 or depth > 1:
            return [self._note(self._value(2))]
        if kind == 2:
            return [
                f"if {self._condition()}:",
                *_inside(self._apart(depth + 1)),
                "else:",
                *_inside(self._apart(depth + 1)),
            ]
        if kind == 3:
            name = self.choose.fresh("j")
            return [f"for {name} in range(t % 3 + 1):", *_inside(self._apart(depth + 1))]
        if kind == 4:
            return [
                f'T.evaluate(T.call_intrin("int32", "tir.atomic_add", T.address_of(N[{self.choose.number(0, 2)}]), t))'
            ]
        if kind == 5:
            name = self.choose.fresh("v")
            line = f"{name}: T.float32 = {self._value(2)}"
            self.values.append(name)
            rest = self._apart(depth + 1)
            self.values.remove(name)
            return [line, *rest] if depth == 0 else [f"with T.LetStmt({self._value(1)}) as {name}:", *_inside(rest)]
        return [self._note(f"T.if_then_else({self._condition()}, {self._value(1)}, {self._value(1)})")]

    def _condition(self) -> str:
        return self.choose.pick(
            (
                "t % 2 == 0",
                "tx > 1",
                "t != 3",
                "vx == 1" if self.virtual else "bx == 1",
                f"A{self.own} > T.float32(0)",
                f"t < {self.count // 2}",
            )
        )

    def _value(self, depth: int) -> str:
        kind = self.choose.number(0, 5 if depth else 3)
        if kind == 0:
            return f"L[{self.choose.number(0, 2)}]"
        if kind == 1:
            return f"A{self.own}"
        if kind == 2 and self.readable:
            other = self.choose.pick((f"{self.count - 1} - t", f"(t * 5 + 3) % {self.count}", "t", "0"))
            return f"{self.choose.pick(self.readable)}[{other}]"
        if kind <= 3:
            return self.choose.pick((*self.values, "T.float32(0.5)", 'T.Cast("float32", tx)', *(f'T.Cast("float32", {k})' for k in self.loops)))  # fmt: skip
        a, b = self._value(depth - 1), self._value(depth - 1)
        return f"T.max({a}, {b})" if kind == 4 else f"({a} - {b}) * T.float32(0.5)"


def _inside(lines: list[str]) -> list[str]:
    return ["    " + line for part in lines for line in part.split("\n")]
