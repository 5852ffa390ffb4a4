"""Random functions whose views, pointers and sizes may be wrong, for the law of memory.

Each function has one or two buffers and scalars `k` (int32) and `m` (int64). It declares views of any shape, dtype,
strides and offset, pointers of every origin, allocations, and matched regions, and stores to elements at arbitrary
indices.
"""

from __future__ import annotations

from math import prod

from msgspec import Struct

from .choices import Choices

DTYPES = ("int32", "int8", "int64", "uint16", "float32", "float64", "bool", "uint64")
SCALARS = (3, 0, 1, 2, 4, -1, -2, 5, 7, -5, 31, 40, 1000, 2**31 - 1, -(2**31))
_HUGE = (10**8, -(10**8), 2**40, 2**61, -(2**61), 2**62, 2**63 - 1, -(2**63))
_MOST = 1000
"""Maximum number of allocated elements and of iterations of a loop."""


class _Buffer(Struct):
    name: str
    dtype: str
    rank: int
    is_small: bool = True
    """Whether it may be passed to `fill`, which knows its size."""
    last: int | None = None
    """The last index, if there is one dimension and its size is known."""


class Views:
    """Writer of the text of one function."""

    def __init__(self, choose: Choices) -> None:
        self.choose = choose
        self.lines: list[str] = []
        self.buffers: list[_Buffer] = []
        self.pointers: list[str] = []
        self.held: dict[str, tuple[str, int]] = {}
        """The dtype and the number of elements that some pointers address."""
        self.depth = 1

    def text(self) -> str:
        """Return the module."""
        params, heads = ["k: T.int32", "m: T.int64"], list[str]()
        for name in ("A", "B")[: self.choose.number(1, 2)]:
            dtype, rank = self.choose.pick(DTYPES), self.choose.number(1, 2)
            sizes = [str(self.choose.pick((4, 1, 2, 3, 8, 9, 7, 15))) for _ in range(rank)]
            if self.choose.rarely(3):
                sizes[0] = f"n{name}"
                heads.append(f"n{name} = T.{self.choose.pick(('int32', 'int64'))}()")
                heads.append(f'{name} = T.match_buffer({name.lower()}, ({", ".join(sizes)},), "{dtype}")')
                params.append(f"{name.lower()}: T.handle")
            else:
                params.append(f'{name}: T.Buffer(({", ".join(sizes)},), "{dtype}")')
                self.held[f"{name}.data"] = dtype, prod(map(int, sizes))
            self.buffers.append(_Buffer(name, dtype, rank))
            self.pointers.append(f"{name}.data")
        for head in heads:
            self.say(head)
        for _ in range(self.choose.number(1, 4)):
            self.choose.pick((self.view, self.pointer, self.tight, self.memory, self.matched))()
        for _ in range(self.choose.number(1, 3)):
            self.choose.pick(
                (
                    self.stores,
                    self.stores,
                    self.one,
                    self.call,
                    self.guarded,
                    self.overwritten,
                    self.escaping,
                    self.strided,
                )
            )()
        body = "\n".join(self.lines)
        fill = _FILL.format(size=self.choose.pick((4, 1, 2, 8)))
        return f"I.ir_module Module:\n    T.prim_func main({', '.join(params)}):\n{body}\n{fill}"

    def say(self, line: str) -> None:
        self.lines.append("    " * (self.depth + 1) + line)

    # --- What there is

    def size(self) -> str:
        if self.choose.rarely(4):
            return self.choose.pick(("k", "k + 1", "k * 2", "8 - k", "k * k", "T.max(k, 1)"))
        return str(self.choose.pick((4, 1, 2, 3, 8, 16, 9, 100)))

    def step(self) -> str:
        if self.choose.rarely(5):
            return f"T.int64({self.choose.pick(_HUGE)})"
        return str(
            self.choose.pick(
                (1, 2, 4, 3, "k", -1, 0, 8, 0, "m", -2, "k - 2", 'T.Cast("uint32", k)', 'T.Cast("uint64", m)')
            )
        )

    def tight(self) -> None:
        """Declare a view of exactly the available elements or of one more: from the first one, up to the last one, or shifted."""
        held = [key for key in self.pointers if key in self.held]
        if not held:
            return self.view()
        pointer, name = self.choose.pick(held[::-1]), self.choose.fresh("V")
        dtype, count = self.held[pointer]
        size = max(count, 1) + self.choose.rarely(8)
        mirrored = f", strides=[T.int32(-1)], elem_offset={size - 1}"
        moved = (", strides=[1], elem_offset=-1", ", strides=[1], elem_offset=1", f", strides=[-1], elem_offset={size}")
        placed = self.choose.pick(("", mirrored, "", mirrored, "", self.choose.pick(moved)))
        self.say(f'{name} = T.decl_buffer(({size},), "{dtype}", data={pointer}{placed})')
        self.buffers.append(_Buffer(name, dtype, 1, is_small=False, last=size - 1))
        return None

    def view(self) -> None:
        dtype, name, rank = self.choose.pick(DTYPES), self.choose.fresh("V"), self.choose.number(0, 2)
        sizes = [self.size() for _ in range(rank)]
        said = f'{name} = T.decl_buffer(({", ".join(sizes)}{"," if rank == 1 else ""}), "{dtype}", data={self.choose.pick(self.pointers)}'
        if rank and self.choose.rarely(2):
            said += f", strides=[{', '.join(self.step() for _ in range(rank))}]"
        if self.choose.rarely(3):
            said += f", elem_offset={self.step()}"
        self.say(said + ")")
        self.buffers.append(_Buffer(name, dtype, rank, is_small=False))

    def pointer(self) -> None:
        name, base = self.choose.fresh("p"), self.choose.pick(self.pointers)
        kind = self.choose.number(0, 4)
        if kind == 0:
            buffer = self.choose.pick(self.buffers)
            place, held = self.indices(buffer, "1"), self.held.get(f"{buffer.name}.data")
            if held and buffer.rank == 1:
                place = str(self.choose.number(0, 3))
                self.held[name] = held[0], max(held[1] - int(place), 0)
            value = f"T.address_of({buffer.name}[{place}])"
        elif kind == 1:
            value = f"T.handle_add_byte_offset({base}, {self.choose.pick((4, 8, 0, 'k', 'k * 8', -8, 64, 'm', 1))})"
        elif kind == 2:
            other = self.choose.pick(self.pointers)
            if self.choose.pick((base, other)) in self.held:
                self.held[name] = self.held[base if base in self.held else other]
            value = f"T.if_then_else({self.choose.pick(('k', 'm'))} > 2, {base}, {other})"
        elif kind == 3:
            dtype = self.choose.pick(DTYPES)
            value = (
                f'T.tvm_access_ptr(T.type_annotation("{dtype}"), {base}, {self.choose.pick((1, 0, "k", -1, 7))}, 1, 3)'
            )
        else:
            value = f'T.reinterpret("handle", {base})'
        self.say(f'{name}: T.handle("int8") = {value}')
        self.pointers.append(name)

    def memory(self) -> None:
        """Allocate memory and fill it from the first element to the last."""
        dtype, name, size = self.choose.pick(DTYPES), self.choose.fresh("M"), self.size()
        size = f"T.min({size}, {_MOST})" if size.startswith(("k", "T.max(k")) else size
        self.say(f'{name} = T.alloc_buffer(({size},), "{dtype}")')
        loop = self.choose.fresh("f")
        self.say(f"for {loop} in range({size}):")
        self.say(f'    {name}[{loop}] = T.Cast("{dtype}", {loop})')
        self.buffers.append(_Buffer(name, dtype, 1, is_small=False))
        self.pointers.append(f"{name}.data")

    def matched(self) -> None:
        """Open a block with a matched region, and possibly an allocation. The following statements are inside it."""
        source = self.choose.pick([buffer for buffer in self.buffers if buffer.rank] or self.buffers)
        if not source.rank:
            return
        name, block = self.choose.fresh("X"), self.choose.fresh("block")
        self.say(f'with T.block("{block}"):')
        self.depth += 1
        has_axis = self.choose.rarely(3)
        if has_axis:
            self.say(f"{self.choose.fresh('v')} = T.axis.spatial(1, 0)")
        starts = [self.choose.pick(("0", "1", "k", "k - 3", "2")) for _ in range(source.rank)]
        sizes = [self.choose.pick(("1", "2", "4", "k", "3")) for _ in range(source.rank)]
        region = ", ".join(f"{a}:{a} + {n}" for a, n in zip(starts, sizes, strict=True))
        self.say("T.reads()")
        self.say("T.writes()")
        shape = ", ".join(self.choose.pick((size, size, size, "2")) for size in sizes)
        self.say(f'{name} = T.match_buffer({source.name}[{region}], ({shape},), "{source.dtype}")')
        self.buffers.append(_Buffer(name, source.dtype, source.rank, is_small=False))
        if has_axis:
            self.memory()

    # --- What is done

    def index(self, loop: str) -> str:
        if self.choose.rarely(8):
            narrow = [
                buffer
                for buffer in self.buffers
                if buffer.rank == 1 and buffer.dtype in ("int32", "int8", "uint16", "bool")
            ]
            if narrow:
                return f'T.Cast("int32", {self.choose.pick(narrow).name}[{self.choose.pick((0, loop))}])'
        forms = (
            "{i}",
            "0",
            "{i} + 1",
            "{i} * 2",
            "k",
            "3 - {i}",
            "{i} // 2",
            "{i} - k",
            "{i} % 2",
            "T.min({i}, k)",
            "{i} * k",
            "{i} << k",
            'T.Cast("uint8", {i} - k)',
            'T.Cast("uint32", k + {i})',
        )
        return self.choose.pick(forms).format(i=loop)

    def indices(self, buffer: _Buffer, loop: str) -> str:
        if buffer.last is not None and self.choose.number(0, 1):
            return str(self.choose.pick((buffer.last, 0, buffer.last, 1)))
        return ", ".join(self.index(loop) for _ in range(buffer.rank)) if buffer.rank else "()"

    def value(self, dtype: str, loop: str) -> str:
        same = [other for other in self.buffers if other.dtype == dtype]
        if same and self.choose.number(0, 2):
            buffer = self.choose.pick(same)
            return f"{buffer.name}[{self.indices(buffer, loop)}]"
        return f'T.Cast("{dtype}", {self.choose.pick((loop, "7", "k", f"({loop} + 1) << k", f"{loop} >> k"))})'

    def store(self, loop: str) -> str:
        target = self.choose.pick(self.buffers[::-1])
        return f"{target.name}[{self.indices(target, loop)}] = {self.value(target.dtype, loop)}"

    def stores(self) -> None:
        loop = self.choose.fresh("i")
        kind = self.choose.pick(("range", "T.unroll", "T.vectorized"))
        self.say(
            f"for {loop} in {kind}({self.choose.pick((4, 1, 2, 8, f'T.min(k, {_MOST})') if kind == 'range' else (4, 2, 8))}):"
        )
        for _ in range(self.choose.number(1, 2)):
            self.say("    " + self.store(loop))

    def strided(self) -> None:
        """Load every second or third element up to the last one as a vector, and store them to the first ones."""
        known = [buffer for buffer in self.buffers if buffer.rank == 1 and f"{buffer.name}.data" in self.held]
        if not known:
            return self.stores()
        source, step = self.choose.pick(known), self.choose.pick((2, 2, 3, 4, -2))
        size = self.held[f"{source.name}.data"][1]
        lanes = max((count for count in (1, 2, 4, 8) if (count - 1) * abs(step) < size), default=1)
        start = size - 1 - (lanes - 1) * step if step > 0 else size - 1
        memory, loop = self.choose.fresh("M"), self.choose.fresh("i")
        self.say(f'{memory} = T.alloc_buffer(({lanes},), "{source.dtype}")')
        for line in (
            f"{memory}[{loop}] = {source.name}[{start} + {loop} * {step}]",
            f"{source.name}[{loop}] = {memory}[{loop}]",
        ):
            self.say(f"for {loop} in T.vectorized({lanes}):")
            self.say(f"    {line}")
        return None

    def one(self) -> None:
        self.say(self.store("1"))

    def guarded(self) -> None:
        """Store under a condition on the index."""
        loop, target = self.choose.fresh("i"), self.choose.pick(self.buffers[::-1])
        index = self.index(loop)
        self.say(f"for {loop} in range(8):")
        self.say(f"    if {index} < {self.choose.pick((4, 'k', 1, 8))} and 0 <= {index}:")
        indices = ", ".join([index] * target.rank) if target.rank else "()"
        self.say(f"        {target.name}[{indices}] = {self.value(target.dtype, loop)}")

    def call(self) -> None:
        self.say(f"Module.fill({self.choose.pick(self.pointers[::-1])})")

    def overwritten(self) -> None:
        """Read the same element in each iteration of a loop in which a function overwrites it."""
        loop, source, target = (
            self.choose.fresh("i"),
            self.choose.pick(self.buffers),
            self.choose.pick(self.buffers[::-1]),
        )
        place = ", ".join(["0"] * source.rank) or "()"
        self.say(f"for {loop} in range({self.choose.pick((2, 3))}):")
        lines = [
            f'    {target.name}[{self.indices(target, loop)}] = T.Cast("{target.dtype}", {source.name}[{place}])',
            f"    Module.fill({self.choose.pick((f'{source.name}.data', *self.pointers))})",
        ]
        for line in lines[:: self.choose.pick((1, -1))]:
            self.say(line)

    def escaping(self) -> None:
        """Use memory in one loop, and read it afterwards through a pointer."""
        target, dtype, size = self.choose.pick(self.buffers), self.choose.pick(DTYPES), self.choose.pick((4, 2))
        name, view, loop, block = (self.choose.fresh(letter) for letter in ("E", "V", "i", "block"))
        self.say(f'with T.block("{block}"):')
        self.depth += 1
        self.say("T.reads()")
        self.say("T.writes()")
        self.say(f'{name} = T.alloc_buffer(({size},), "{dtype}")')
        if self.choose.number(0, 1):
            self.say(f'{view} = T.decl_buffer(({size},), "{dtype}", data={name}.data)')
        else:
            view = name
        self.say(f"for {loop} in range({size}):")
        self.say(f'    {name}[{loop}] = T.Cast("{dtype}", {loop} + k)')
        self.say(f'    {target.name}[{self.indices(target, loop)}] = T.Cast("{target.dtype}", {name}[{loop}])')
        if self.choose.number(0, 1):
            self.say(
                f'{target.name}[{self.indices(target, "1")}] = T.Cast("{target.dtype}", {view}[{self.choose.pick((0, 1))}])'
            )
        else:
            self.say(f"Module.fill({name}.data)")
        self.depth -= 1


_FILL = """
    T.prim_func(private=True) fill(F: T.Buffer(({size},), "int32")):
        for i in range({size}):
            F[i] = i + 1
"""
