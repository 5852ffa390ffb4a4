"""Graph-level functions under construction, as text: their parameters, values and lines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from msgspec import Struct

from .choices import Choices

Shape: TypeAlias = tuple[int | str, ...]
"""Sizes of the dimensions. A string names a symbolic size."""

FLOATS = ("float32", "float64", "float16")


class Value(Struct, frozen=True):
    """A variable of the function: its name, shape and dtype."""

    name: str
    shape: Shape
    dtype: str

    @property
    def is_float(self) -> bool:
        return self.dtype in FLOATS

    @property
    def is_static(self) -> bool:
        return not any(isinstance(size, str) for size in self.shape)

    def struct_info(self) -> str:
        """The struct info of the value as text."""
        sizes = "".join(f'"{size}", ' if isinstance(size, str) else f"{size}, " for size in self.shape)
        return f'R.Tensor(({sizes.rstrip(" ") if len(self.shape) == 1 else sizes.rstrip(", ")}), "{self.dtype}")'


class GraphOptions(Struct, frozen=True):
    """Options of graph-level functions."""

    constants: tuple[float, ...] = (2.0, -0.5, 1.0, 0.0, -1.0, 3.0)
    shapes: tuple[Shape, ...] = ()
    """Shapes of new parameters whose rank is open. If empty, they are small and arbitrary."""
    broadcasting: bool | None = None
    """Whether operands of other shapes are broadcast: always if possible, never, or sometimes."""


DEFAULT = GraphOptions()


class Graph:
    """A function under construction."""

    def __init__(self, choose: Choices, functions: Sequence[str] = (), options: GraphOptions = DEFAULT) -> None:
        self.choose, self.options = choose, options
        self.functions = functions
        """Loop-level functions of the module that double a vector of 4 float32."""
        self.callees: list[str] | None = None
        """The texts of the other loop functions that it calls; None if there is no module to hold them."""
        self.params: list[Value] = []
        self.values: list[Value] = []
        self.lines: list[str] = []
        self.is_pure = True
        """Whether no line calls an impure function."""
        self.may_be_dataflow = True
        """Whether all lines are allowed in a dataflow block. Branches are not."""

    def size(self) -> int | str:
        return "n" if self.choose.rarely(5) else 0 if self.choose.rarely(24) else self.choose.number(1, 4)

    def operand(self, wanted: Callable[[Value], bool] = lambda value: True, shape: Shape | None = None) -> Value:
        """Choose a value: an existing one, or a new float parameter of `shape`."""
        known = [v for v in self.values if wanted(v) and shape in (None, v.shape)]
        if known and self.choose.number(0, 4):
            return known[-1 - self.choose.number(0, len(known) - 1)]
        if shape is None and self.options.shapes:
            shape = self.choose.pick(self.options.shapes)
        sizes = tuple([self.size() for _ in range(self.choose.number(1, 3))]) if shape is None else shape
        return self.parameter(sizes, self.choose.pick(("float32", "float32", *FLOATS)))

    def input(self) -> Value:
        """Choose a float parameter. Its elements include ties and zeros, without rounding errors."""
        return self.operand(lambda value: value.is_float and value in self.params)

    def exact(self, shape: Shape, dtype: str) -> str:
        """Choose a parameter of a shape and dtype, existing or new. Return its name."""
        known = [param for param in self.params if (param.shape, param.dtype) == (shape, dtype)]
        return known[-1].name if known and self.choose.number(0, 1) else self.parameter(shape, dtype).name

    def parameter(self, shape: Shape, dtype: str) -> Value:
        """Return a new parameter."""
        value = Value(self.choose.fresh("x"), shape, dtype)
        self.params.append(value)
        self.values.append(value)
        return value

    def bind(self, expression: str, shape: Shape, dtype: str) -> None:
        """Add a line that binds a new variable."""
        value = Value(self.choose.fresh("lv"), shape, dtype)
        self.values.append(value)
        annotation = f": {value.struct_info()}" if self.choose.rarely() and value.is_static else ""
        self.lines.append(f"{value.name}{annotation} = {expression}")


Operator: TypeAlias = Callable[[Graph], None]
