"""Valid functions that access the same memory through buffers, views, pointers, matched regions and calls of other functions.

All memory holds eight int32, and all indices are below four, so that no access faults, whatever names it.
"""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import strategies as st

from ...ir.base import IRModule
from ..load import parse
from .choices import Choices, drawn

_FUNCTIONS = """
    T.prim_func(private=True) fill(F: T.Buffer((4,), "int32")):
        for i in range(4):
            F[i] = F[i] * 3 + 2 * i + 1

    T.prim_func(private=True) swap(F: T.Buffer((4,), "int32"), G: T.Buffer((4,), "int32")):
        for i in range(4):
            F[i] = G[3 - i] + 1
"""


def aliases() -> st.SearchStrategy[IRModule]:
    """Generate modules whose function `main` accesses memory by several names."""
    return drawn(lambda choose: parse(alias_text(choose), "aliases.tvms"))


def alias_text(choose: Choices) -> str:
    """Return the text of a module whose function `main` takes two arrays of eight int32."""
    writer = _Writer(choose)
    writer.memory() if choose.number(0, 1) else writer.block()
    for _ in range(choose.number(1, 4)):
        writer.statement(2)
    body = "\n".join(writer.lines)
    head = 'T.prim_func main(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")):'
    return f"I.ir_module Module:\n    {head}\n{body}\n{_FUNCTIONS}"


class _Writer:
    def __init__(self, choose: Choices) -> None:
        self.choose = choose
        self.lines: list[str] = []
        self.depth = 2
        self.buffers, self.loops = ["A", "B"], list[str]()
        self.pointers = ["A.data", "B.data"]

    def say(self, line: str) -> None:
        self.lines.append("    " * self.depth + line)

    def statement(self, depth: int) -> None:
        options: list[Callable[[], None]] = [self.store, self.store, self.call, self.view, self.pointer]
        if depth:
            options += [self.loop, self.loop, self.branch, self.block, self.memory]
        self.choose.pick(options)()

    def inside(self, count: int) -> None:
        """Write a few statements one level deeper. Names that they define end with them."""
        buffers, pointers = list(self.buffers), list(self.pointers)
        self.depth += 1
        for _ in range(count):
            self.statement(6 - self.depth if self.depth < 6 else 0)
        if not count or self.choose.number(0, 1):
            self.store()
        self.depth -= 1
        self.buffers, self.pointers = buffers, pointers

    # --- Accesses

    def index(self) -> str:
        loops = [f"{loop} % 4" for loop in self.loops] + [f"({loop} + 1) % 4" for loop in self.loops]
        return str(self.choose.pick((0, 1, *loops, 3)))

    def element(self) -> str:
        return f"{self.choose.pick(self.buffers[::-1])}[{self.index()}]"

    def store(self) -> None:
        value = self.choose.pick((self.element(), f"{self.element()} + {self.element()}", "7", *self.loops))
        target = self.element()
        self.say(f"{target} = {self.choose.pick((value, f'{target} + {value}'))}")

    def call(self) -> None:
        if self.choose.number(0, 2):
            self.say(f"Module.fill({self.choose.pick(self.pointers[::-1])})")
        else:
            self.say(f"Module.swap({self.choose.pick(self.pointers)}, {self.choose.pick(self.pointers)})")

    # --- Names

    def view(self) -> None:
        name = self.choose.fresh("V")
        step = self.choose.pick(("", ", elem_offset=0", ", strides=[1]", ", strides=[0]"))
        self.say(f'{name} = T.decl_buffer((4,), "int32", data={self.choose.pick(self.pointers)}{step})')
        self.buffers.append(name)

    def pointer(self) -> None:
        name, base = self.choose.fresh("p"), self.choose.pick(self.pointers)
        plain = [buffer for buffer in self.buffers if f"{buffer}.data" in self.pointers] or ["A"]
        value = self.choose.pick((f'T.reinterpret("handle", {base})', f"T.address_of({self.choose.pick(plain)}[0])"))
        self.say(f'{name}: T.handle("int32") = {value}')
        self.pointers.append(name)

    def memory(self) -> None:
        name, loop = self.choose.fresh("M"), self.choose.fresh("f")
        form = self.choose.pick(("alloc_buffer", "decl_buffer"))
        self.say(f'{name} = T.{form}((8,), "int32")')
        self.say(f"for {loop} in range(8):")
        self.say(f"    {name}[{loop}] = {loop}")
        self.buffers.append(name)
        self.pointers.append(f"{name}.data")

    def block(self) -> None:
        """Open a block with memory, or a matched region of a buffer."""
        self.say(f'with T.block("{self.choose.fresh("block")}"):')
        buffers, pointers = list(self.buffers), list(self.pointers)
        self.depth += 1
        self.say("T.reads()")
        self.say("T.writes()")
        if self.choose.number(0, 2):
            name, loop = self.choose.fresh("E"), self.choose.fresh("f")
            self.say(f'{name} = T.alloc_buffer((8,), "int32")')
            self.buffers.append(name)
            if self.choose.number(0, 1):
                self.pointers.append(f"{name}.data")
            self.say(f"for {loop} in range(8):")
            self.say(f"    {name}[{loop}] = {loop} + {self.element().replace(name, 'A')}")
            self.say(f"    {self.choose.pick(('A', 'B'))}[{loop}] = {name}[{loop}]")
        else:
            name = self.choose.fresh("X")
            self.say(f'{name} = T.match_buffer({self.choose.pick(("A", "B"))}[0:4], (4,), "int32")')
            self.buffers.append(name)
        for _ in range(self.choose.number(1, 3)):
            self.statement(1 if self.depth < 4 else 0)
        self.depth -= 1
        self.buffers, self.pointers = buffers, pointers

    # --- Statements around others

    def loop(self) -> None:
        name = self.choose.fresh("i")
        start = self.choose.pick(("", "1, "))
        kind = self.choose.pick(("range", "range", "T.unroll"))
        self.say(f"for {name} in {kind}({start}{self.choose.number(2, 4)}):")
        self.loops.append(name)
        if self.choose.rarely(2):  # what does not change in the loop may be computed before it
            self.depth += 1
            self.choose.pick((self.choice, self.variable, self.branch))()
            self.depth -= 1
        else:
            self.inside(self.choose.number(1, 2))
        self.loops.remove(name)

    def variable(self) -> None:
        name, source = self.choose.fresh("t"), self.element()
        self.say(f"{name} = {source}")
        self.change(source)
        self.say(f"{self.element()} = {name} + 1")

    def choice(self) -> None:
        """Write a branch on an element that the branch changes, by a store or only by a call."""
        source = self.element()
        self.say(f"if {source} {self.choose.pick(('% 2 == 0', '% 2 == 1', '< 3'))}:")
        self.depth += 1
        self.change(source)
        self.depth -= 1

    def change(self, element: str) -> None:
        """Change an element through its own name, a call, or any other name."""
        name = element.partition("[")[0]
        match self.choose.number(0, 3):
            case 0:
                self.say(f"{element} = {element} * 3 + 1")
            case 1:
                self.store()
            case _ if f"{name}.data" in self.pointers:
                self.say(f"Module.fill({name}.data)")
            case _:
                self.call()

    def branch(self) -> None:
        self.say(
            f"if {self.choose.pick((f'{self.element()} < 3', f'{self.element()} < 2', *[f'{loop} == 0' for loop in self.loops]))}:"
        )
        self.inside(self.choose.number(0, 1))
