"""Programs with what primitives tend to forget: predicates with lower bounds and equalities, variables in bodies, blocks in
blocks, several outputs, loops and iterators that start late, extents that are computed, symbolic, 0 or 1, views, axes
without a kind, reductions that start elsewhere, conditions around blocks, and buffers with several writers.

A program is a few stages. Each writes a box of one or two buffers, and reads of a buffer only the box that was written.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct, field

from .choices import Choices

Size = int | str
"""A number, or the name of a symbolic size."""
_LETTERS = {"spatial": "ij", "reduce": "kr", "scan": "ij", "opaque": "ij"}


class Memory(Struct):
    """A buffer: its shape, and the box of it that holds values."""

    name: str
    shape: tuple[Size, ...]
    box: tuple[tuple[Size, Size], ...]
    is_parameter: bool = True


class Axis(Struct, frozen=True):
    """An iterator that takes the values from `low` to `high`."""

    name: str
    kind: str
    low: Size
    high: Size


class Nest(Struct):
    """Loops and bindings for some axes, and where the block runs."""

    loops: list[str] = field(default_factory=list[str])
    bindings: list[str] = field(default_factory=list[str])
    where: list[str] = field(default_factory=list[str])
    is_fixed: bool = False
    """Whether the order of the loops matters: one runs over what another says."""


class Writer:
    """Writes one program."""

    def __init__(self, choose: Choices) -> None:
        self.choose = choose
        self.dtype = choose.pick(("int32", "float32"))
        self.is_symbolic = choose.rarely(6)
        self.extents: list[Size] = [choose.pick((4, 5, 6, 8, 3, 2, 1)) for _ in range(choose.pick((2, 2, 1)))]
        if self.is_symbolic:
            self.extents[0] = "n"
        self.parameters: list[str] = []
        self.head: list[str] = []
        self.body: list[str] = []
        self.known: list[Memory] = []
        self.scalar = False

    # --- Buffers ------------------------------------------------------------------------------------------------------

    def buffer(self, name: str, shape: Sequence[Size], box: Sequence[tuple[Size, Size]], is_parameter: bool) -> Memory:
        """Declare a buffer, as a parameter or allocated."""
        memory = Memory(self.choose.fresh(name), tuple(shape), tuple(box), is_parameter)
        sizes = "(" + "".join([f"{size}, " for size in shape]) + ")"
        if is_parameter and self.is_symbolic:
            handle = f"{memory.name.lower()}_handle"
            self.parameters.append(f"{handle}: T.handle")
            self.head.append(f'{memory.name} = T.match_buffer({handle}, {sizes}, "{self.dtype}")')
        elif is_parameter:
            self.parameters.append(f'{memory.name}: T.Buffer({sizes}, "{self.dtype}")')
        else:
            self.head.append(f'{memory.name} = T.alloc_buffer({sizes}, "{self.dtype}")')
        return memory

    def source(self, shape: Sequence[Size]) -> Memory:
        """Return a buffer to read: the last one that was written, mostly, or a new parameter."""
        fitting = [each for each in self.known if len(each.shape) == len(shape)]
        if fitting and not self.choose.rarely(4):
            return fitting[-1] if not self.choose.rarely(3) else self.choose.pick(fitting)
        memory = self.buffer("A", shape, [(0, size) for size in shape], is_parameter=True)
        if not self.is_symbolic and self.choose.rarely(8):
            return self.view(memory)
        return memory

    def view(self, memory: Memory) -> Memory:
        """Return a buffer that is another one's memory, laid out otherwise."""
        total = 1
        for size in memory.shape:
            assert isinstance(size, int)
            total *= size
        name = self.choose.fresh("view")
        shape = memory.shape if self.choose.rarely(2) else (total,)
        self.head.append(
            f'{name} = T.decl_buffer(({"".join([f"{each}, " for each in shape])}), "{self.dtype}", data={memory.name}.data)'
        )
        return Memory(name, shape, tuple([(0, each) for each in shape]))

    # --- Loops --------------------------------------------------------------------------------------------------------

    def axes(self, box: Sequence[tuple[Size, Size]], kind: str = "spatial") -> list[Axis]:
        return [Axis(self.choose.fresh(f"v{_LETTERS[kind][at % 2]}"), kind, *each) for at, each in enumerate(box)]

    def nest(self, axes: Sequence[Axis], in_order: bool = False) -> Nest:
        """Return loops that run over the axes."""
        nest = Nest()
        for axis in axes:
            self._loops(nest, axis, can_shift=not in_order)
        if not (in_order or nest.is_fixed) and len(nest.loops) > 1 and self.choose.rarely(4):
            nest.loops.append(nest.loops.pop(0))
        if not in_order and self.choose.rarely(12):
            nest.loops.insert(0, self._loop("u", 0, 1))
        return nest

    def _loop(self, name: str, low: Size, high: Size, kind: str = "") -> str:
        name = self.choose.fresh(name)
        plain = kind in ("reduce", "scan")
        how = "range" if plain else self.choose.pick(("range", "range", "range", "range", "T.unroll", "T.parallel"))
        if how == "T.unroll" and not (isinstance(low, int) and isinstance(high, int)):
            how = "range"
        notes = ', annotations={"hint": 1}' if self.choose.rarely(14) else ""
        ends = f"{high}" if low == 0 else f"{low}, {high}"
        return f"{name}:{'T.serial' if notes and how == 'range' else how}({ends}{notes})"

    def _loops(self, nest: Nest, axis: Axis, can_shift: bool) -> None:
        low, high, letter = axis.low, axis.high, axis.name[1]
        if isinstance(high, str) or isinstance(low, str):
            self._whole(nest, axis, letter)
            return
        forms = ["predicate", "start", "loop start", "split", "computed"]
        form = self.choose.pick(["plain", "plain", *forms] if low == 0 else forms)
        if form == "predicate" and axis.kind == "reduce" and low > 0:
            form = "start"
        count = high - low
        if form == "plain":
            self._whole(nest, axis, letter)
        elif form == "predicate":
            self._restricted(nest, axis, letter)
        elif form == "start":
            nest.loops.append(self._loop(letter, 0, count, axis.kind))
            nest.bindings.append(f"{axis.name} = T.axis.{axis.kind}(({low}, {high}), {_name(nest.loops[-1])} + {low})")
        elif form == "loop start":
            shift = self.choose.number(0, 2) if can_shift else 0
            nest.loops.append(self._loop(letter, low + shift, high + shift, axis.kind))
            index = _name(nest.loops[-1]) + (f" - {shift}" if shift else "")
            nest.bindings.append(f"{axis.name} = T.axis.{axis.kind}(({low}, {high}), {index})")
        else:
            self._divided(nest, axis, letter, computed=form == "computed")

    def _whole(self, nest: Nest, axis: Axis, letter: str) -> None:
        nest.loops.append(self._loop(letter, 0, axis.high, axis.kind))
        nest.bindings.append(f"{axis.name} = T.axis.{axis.kind}({axis.high}, {_name(nest.loops[-1])})")

    def _restricted(self, nest: Nest, axis: Axis, letter: str) -> None:
        """A loop over more than the box, and a predicate that keeps to it."""
        assert isinstance(axis.low, int) and isinstance(axis.high, int)  # noqa: PT018
        more = self.choose.number(0, 2)
        nest.loops.append(self._loop(letter, 0, axis.high + more, axis.kind))
        index = _name(nest.loops[-1])
        nest.bindings.append(f"{axis.name} = T.axis.{axis.kind}({axis.high + more}, {index})")
        if axis.high == axis.low + 1 and axis.kind != "reduce":
            nest.where.append(f"{index} == {axis.low}")
            return
        if axis.low:
            nest.where.append(f"{axis.low} <= {index}")
        if more:
            nest.where.append(f"{index} < {axis.high}")

    def _divided(self, nest: Nest, axis: Axis, letter: str, computed: bool) -> None:
        """Two loops, with a guard, or of which the inner one runs as far as is left."""
        assert isinstance(axis.low, int) and isinstance(axis.high, int)  # noqa: PT018
        count, factor = axis.high - axis.low, self.choose.number(1, 4)
        nest.loops.append(self._loop(f"{letter}0", 0, -(-count // factor), axis.kind))
        outer = _name(nest.loops[-1])
        inside: Size = f"T.min({factor}, {count} - {outer} * {factor})" if computed else factor
        nest.is_fixed |= computed
        nest.loops.append(self._loop(f"{letter}1", 0, inside, axis.kind))
        value = f"{outer} * {factor} + {_name(nest.loops[-1])}"
        if not computed and count % factor:
            nest.where.append(f"{value} < {count}")
        domain = f"({axis.low}, {axis.high})" if axis.low else f"{axis.high}"
        start = f" + {axis.low}" if axis.low else ""
        nest.bindings.append(f"{axis.name} = T.axis.{axis.kind}({domain}, {value}{start})")

    # --- Values -------------------------------------------------------------------------------------------------------

    def element(self, memory: Memory, axes: Sequence[Axis]) -> str:
        """Return an element that holds a value, at places that the axes say."""
        indices: list[str] = []
        for at, (low, high) in enumerate(memory.box):
            axis = axes[at] if at < len(axes) else None
            if axis is None or self.choose.rarely(12):
                indices.append(str(low))
            elif (
                isinstance(low, str) or isinstance(high, str) or isinstance(axis.low, str) or isinstance(axis.high, str)
            ):
                fits = (axis.low, axis.high) == (low, high)
                indices.append(axis.name if fits else str(low))
            elif low <= axis.low and axis.high <= high:
                mirrored = self.choose.rarely(8)
                indices.append(f"{low + high - 1} - {axis.name}" if mirrored else axis.name)
            else:
                indices.append(f"T.max(T.min({axis.name}, {high - 1}), {low})" if low < high else str(low))
        return f"{memory.name}[{', '.join(indices)}]"

    def const(self, value: int) -> str:
        return f"T.{self.dtype}({value})"

    def formula(self, memory: Memory, axes: Sequence[Axis]) -> str:
        """Return a value that is made of an element."""
        own = self.element(memory, axes)
        match self.choose.number(0, 4):
            case 0:
                return f"{own} * {self.const(2)}"
            case 1:
                return f"{own} + {self.const(1)}"
            case 2:
                return f"{own} - {self.element(memory, axes)}"
            case 3:
                return f"T.if_then_else({axes[0].name} < 2, {own}, {self.const(3)} - {own})"
            case _:
                return f'T.max({own}, {self.const(0)}) + T.cast({axes[0].name}, "{self.dtype}")'

    # --- Blocks -------------------------------------------------------------------------------------------------------

    def block(self, name: str, nest: Nest, inside: Sequence[str], extra: Sequence[str] = ()) -> list[str]:
        """Return the loops of a nest around a block."""
        lines = [f'with T.block("{self.choose.fresh(name)}"):', *_in(nest.bindings)]
        if nest.where:
            lines.append(f"    T.where({' and '.join(nest.where)})")
        if self.choose.rarely(14):
            lines.append('    T.block_attr({"hint": 1})')
        lines += _in([*extra, *inside])
        for loop in reversed(nest.loops):
            variable, _, how = loop.partition(":")
            lines = [f"for {variable} in {how}:", *_in(lines)]
        return lines

    def store(self, targets: Sequence[str], values: Sequence[str]) -> list[str]:
        """Return statements that store values, perhaps by way of variables."""
        if len(values) == 1 and not self.choose.rarely(5):
            return [f"{targets[0]} = {values[0]}"]
        if self.choose.rarely(4) and len(values) > 1:
            return [f"{target} = {value}" for target, value in zip(targets, values, strict=True)]
        names = [self.choose.fresh("t") for _ in values]
        lets = [f"{name}: T.{self.dtype} = {value}" for name, value in zip(names, values, strict=True)]
        return [*lets, *[f"{target} = {name}" for target, name in zip(targets, names, strict=True)]]

    def program(self, stages: Sequence[Callable[[Writer, bool], list[str]]]) -> str:
        """Return the text of the program of some stages."""
        for at, stage in enumerate(stages):
            is_last = at == len(stages) - 1
            lines = stage(self, is_last)
            if is_last and self.choose.rarely(10):
                lines = ["if flag > 1:", *_in(lines)]
                self.scalar = True
            self.body += lines
        parameters = [*self.parameters, *(["flag: T.int32"] if self.scalar else [])]
        head = [*(["n = T.int32()"] if self.is_symbolic else []), *self.head]
        return "\n".join([f"T.prim_func main({', '.join(parameters)}):", *_in([*head, *self.body])]) + "\n"


def _in(lines: Sequence[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def _name(loop: str) -> str:
    return loop.partition(":")[0]
