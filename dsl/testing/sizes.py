"""Random functions whose buffers share symbolic sizes and strides, for the law of memory: arguments that disagree are refused."""

from __future__ import annotations

from .choices import Choices

DTYPES = ("float32", "int32", "int8")


class Sizes:
    """Writer of the text of one function of buffers alone, which fast calls can handle."""

    def __init__(self, choose: Choices) -> None:
        self.choose = choose
        self.bound = ["n"]
        """The variables that are sizes of buffers so far."""
        self.shapes: dict[str, list[str]] = {}
        self.dtype = choose.pick(DTYPES)

    def text(self) -> str:
        """Return the module."""
        names = ("A", "B", "C")[: self.choose.number(2, 3)]
        heads = [self._buffer(name) for name in names]
        lines = [f"{size} = T.{self.choose.pick(('int32', 'int64'))}()" for size in self.bound]
        params = ", ".join(f"{name.lower()}: T.handle" for name in names)
        body = "\n".join("        " + line for line in (*lines, *heads, *self._loops(names[0], names[-1])))
        return f"I.ir_module Module:\n    T.prim_func main({params}):\n{body}\n"

    def _buffer(self, name: str) -> str:
        """Return the declaration of a buffer. Expressions use variables that buffers before it bind."""
        rank, shape = self.choose.number(1, 2), [self._size() if self.shapes else "n"]
        if rank == 2:
            shape.append(self._size() if self.choose.number(0, 1) else self.choose.pick(("3", "4")))
        strides = ""
        if rank == 2 and self.choose.rarely(3):
            row, known = shape[1], self.choose.pick(self.bound)
            wide = f"{known} * {int(row) + self.choose.number(0, 1)}" if row.isdigit() else f"({row}) * 2"
            strides = f", strides=[{wide}, 1]"
        self.shapes[name] = shape
        return f'{name} = T.match_buffer({name.lower()}, ({", ".join(shape)},), "{self.dtype}"{strides})'

    def _size(self) -> str:
        """Choose a size. The first one that uses `m` is `m` itself."""
        kind = self.choose.number(0, 4)
        if kind == 0 and "m" not in self.bound:
            self.bound.append("m")
            return "m"
        known = self.choose.pick(self.bound)
        return known if kind < 4 else self.choose.pick((f"{known} + 1", f"{known} * 2", "4"))

    def _loops(self, source: str, target: str) -> list[str]:
        """Return loops that add an element of a buffer to each element of another one."""
        indices = ["i", "j"][: len(self.shapes[target])]
        lines = [
            "    " * depth + f"for {index} in range({size}):"
            for depth, (index, size) in enumerate(zip(indices, self.shapes[target], strict=True))
        ]
        place = ", ".join(f"T.min({index}, {size} - 1)" for index, size in zip("ij", self.shapes[source], strict=False))
        place = place.replace("j", indices[-1])
        element = f"{target}[{', '.join(indices)}]"
        return [*lines, "    " * len(indices) + f"{element} = {element} + {source}[{place}]"]
