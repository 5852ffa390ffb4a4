"""Kernels whose threads share memory and that leave the barriers to the compiler.

A kernel is a list of loops over the threads of a block; the loops execute in order. In each, a thread writes its own
elements of a shared buffer and reads elements that any thread wrote before. Barriers are needed between these loops,
and between the iterations of the loops around them.
"""

from __future__ import annotations

import re
from textwrap import indent

from hypothesis import strategies as st

from ...ir.base import IRModule
from ..load import parse
from .choices import Choices

BLOCKS = 2
SIZES = (4, 3, 8, 32, 33)
"""Numbers of threads in a block."""
BUFFERS = {"S": 1, "R": 2, "Q": 1}
"""The shared buffers, and the number of elements that each thread has in them."""


@st.composite
def cooperative_programs(draw: st.DrawFn) -> IRModule:
    """Generate modules of one function `main(A, B)` that stores a part of the values of all threads in B."""
    return parse("I.ir_module Module:\n" + indent(_Writer(Choices(draw)).function(), "    "))


class _Writer:
    def __init__(self, choose: Choices) -> None:
        self.choose = choose
        self.count = choose.pick(SIZES)
        self.loops: list[str] = []

    def function(self) -> str:
        """Return the text of the function."""
        shape = f"({BLOCKS}, {self.count})"
        buffers = (
            f'{name} = T.alloc_buffer(({self.count * n},), "float32", scope="shared")' for name, n in BUFFERS.items()
        )
        start = self._threads(
            [*(line for name in BUFFERS for line in self._store(name, "A[bx, tx]")), "B[bx, tx] = A[bx, tx]"]
        )
        body = [*start, *self._phases(self.choose.number(2, 4), 0), *self._threads([self._found()])]
        return (
            f'T.prim_func main(A: T.Buffer({shape}, "float32"), B: T.Buffer({shape}, "float32")):\n'
            + indent("\n".join([*buffers, f'for bx in T.thread_binding({BLOCKS}, thread="blockIdx.x"):', *_inside(body)]), "    ")
        )  # fmt: skip

    def _phases(self, count: int, depth: int) -> list[str]:
        lines: list[str] = []
        for _ in range(count):
            kind = self.choose.number(0, 9) if depth < 2 else 0
            if kind <= 5:
                lines += self._threads(self._phase())
            elif kind <= 8:
                lines += self._loop(depth)
            else:
                condition = self.choose.pick(("bx == 0", "bx != 1", *(f"{name} % 2 == 1" for name in self.loops)))
                lines += [f"if {condition}:", *_inside(self._phases(1, depth + 1))]
        return lines

    def _loop(self, depth: int) -> list[str]:
        """Return a loop whose iterations write a buffer first and read it last, so that the next iteration needs a
        barrier. The code before the loop reads another buffer, so that the first iteration needs none.
        """
        name, target = self.choose.fresh("k"), self.choose.pick(list(BUFFERS))
        other = self.choose.pick([buffer for buffer in BUFFERS if buffer != target])
        self.loops.append(name)
        body = [
            *self._threads(self._phase(target)),
            *self._phases(self.choose.number(0, 2), depth + 1),
            *self._threads([self._found(target)]),
        ]
        self.loops.remove(name)
        before = [*self._threads(self._phase(other)), *self._threads([self._found(other)])]
        return [*before, f"for {name} in range({self.choose.number(2, 3)}):", *_inside(body)]

    def _phase(self, target: str = "") -> list[str]:
        """Return the statements of a thread: it writes a buffer from elements of others, or adds a value that it reads to B."""
        target = target or self.choose.pick(("", *BUFFERS))
        if not target:
            return [self._found()]
        others = [name for name in BUFFERS if name != target]
        return self._store(
            target, f"{self._element(self.choose.pick(others))} * T.float32(0.75) + {self._value(others)}"
        )

    def _found(self, name: str = "") -> str:
        return f"B[bx, tx] = B[bx, tx] * T.float32(0.5) + {self._element(name or self.choose.pick(list(BUFFERS)))}"

    def _threads(self, lines: list[str]) -> list[str]:
        """Return a loop over the threads, which may start late."""
        start = self.choose.pick((0, 0, 0, 2, 5))
        if start:
            lines = [re.sub(r"\btx\b", f"(tx - {start})", line) for line in lines]
        ends = f"{start}, {start + self.count}" if start else self.count
        return [f'for tx in T.thread_binding({ends}, thread="threadIdx.x"):', *_inside(lines)]

    def _store(self, name: str, value: str) -> list[str]:
        """Return lines that store to the elements of this thread. Which elements belong to a thread varies."""
        place = self.choose.pick(("tx", f"{self.count - 1} - tx"))
        if BUFFERS[name] == 1:
            return [f"{name}[{place}] = {value}"]
        late = self.choose.pick((0, 0, 1, 3))
        i = f"(i - {late})" if late else "i"
        mine = self.choose.pick((f"{i} * {self.count} + {place}", f"({place}) * {BUFFERS[name]} + {i}"))
        ends = f"{late}, {late + BUFFERS[name]}" if late else BUFFERS[name]
        return [f"for i in range({ends}):", f'    {name}[{mine}] = {value} + T.Cast("float32", i)']

    def _element(self, name: str) -> str:
        """Return an element of a buffer, usually one of another thread."""
        size = self.count * BUFFERS[name]
        return f"{name}[{self.choose.pick((f'{size - 1} - tx', f'(tx + 1) % {size}', f'tx * {BUFFERS[name]}', '0'))}]"

    def _value(self, readable: list[str]) -> str:
        options = [
            "A[bx, tx]",
            "T.float32(0.5)",
            'T.Cast("float32", tx)',
            *(f'T.Cast("float32", {k})' for k in self.loops),
        ]
        kind = self.choose.number(0, len(options))
        return options[kind] if kind < len(options) else self._element(self.choose.pick(readable))


def _inside(lines: list[str]) -> list[str]:
    return ["    " + line for line in lines]
