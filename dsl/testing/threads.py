"""Programs of GPU threads with explicit barriers and without races.

A kernel consists of phases with barriers between them: in one phase each thread writes its own element of a shared
buffer, in the next ones all threads read any of its elements. Between barriers, threads diverge: conditions and loops
that differ, local memory, shuffles and matrix products within a warp, block-wide sums, atomic additions.
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
        self.readable: list[str] = []
        """Shared buffers that all threads may read in this phase."""
        self.loops: list[str] = []
        """Variables with the same value in all threads."""
        self.values: list[str] = []
        """Variables of this thread."""

    def function(self) -> str:
        """Return the text of the function."""
        found = "L[0] + L[1] * T.float32(0.5) + L[2] * T.float32(0.25)"
        end = ['T.tvm_storage_sync("shared")'] if self.virtual else []
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

    # --- What all threads do

    def _phases(self, count: int, depth: int) -> list[str]:
        lines: list[str] = []
        for _ in range(count):
            kind = self.choose.number(0, 11) if depth < 2 else 0
            if kind <= 4:
                lines += self._phase()
            elif kind == 5:
                lines += self._loop(depth)
            elif kind == 6:
                lines += self._uniform_branch(depth)
            elif kind == 7:
                lines += self._apart(0)
            elif kind == 8 or not self.is_warps:
                lines += self._sum()
            else:
                lines += self._product() if self.choose.rarely(3) else self._shuffle()
        return lines

    def _phase(self) -> list[str]:
        """Write the thread's own element of a shared buffer. After the barrier all threads may read it, and none may write it."""
        name = self.choose.pick(("S", "R"))
        before = ['T.tvm_storage_sync("shared")'] if name in self.readable else []
        self.readable = [key for key in self.readable if key != name]
        write = f"{name}[t] = {self._value(2)}"
        self.readable.append(name)
        return [*before, write, 'T.tvm_storage_sync("shared")', *self._apart(0)]

    def _loop(self, depth: int) -> list[str]:
        """Return a loop of phases between barriers. No buffer is readable after it."""
        name, before = self.choose.fresh("k"), list(self.readable)
        self.loops.append(name)
        self.readable = []
        body = self._phases(self.choose.number(1, 2), depth + 1)
        self.loops.remove(name)
        self.readable = []
        wait = 'T.tvm_storage_sync("shared")'
        return [
            *([wait] if before else []),
            f"for {name} in range({self.choose.number(1, 3)}):",
            *_inside([*body, wait]),
        ]

    def _uniform_branch(self, depth: int) -> list[str]:
        """Return a branch on the block index. No buffer is readable after it, and all threads wait before it."""
        before = list(self.readable)
        self.readable = []
        body = self._phases(1, depth + 1)
        self.readable = []
        wait = 'T.tvm_storage_sync("shared")'
        return [*([wait] if before else []), "if bx == 0:", *_inside([*body, wait])]

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
