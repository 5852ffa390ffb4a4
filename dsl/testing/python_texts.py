"""Loop functions whose text is also Python, with what Python computes: an oracle for the reading of expressions, literals, loops
and branches.

The statements are drawn as text, which Python's own parser reads. `expected` executes its tree on 32-bit integers.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Sequence
from textwrap import dedent, indent

from msgspec import Struct

from ...ir.fold import wrap
from .choices import Choices

SIZE = 4
"""Number of elements of the only buffer, `B`."""
_LITERALS = ("1", "2", "3", "7", "0", "0x1F", "0o17", "0b101", "1_0", "40")
_DIVISORS = ("2", "3", "-2", "4", "-3", "0x5")
_BINARY = ("+", "-", "*", "+", "-", "&", "|", "^", "<<", ">>", "//", "%")
_LOWER = ("&", "|", "^", "<<", ">>")
"""Operators that do not bind more strongly than a shift."""
_BITS = frozenset("&|^")
"""Operators that are refused between two comparisons, unless parentheses are around them."""
_ORDERS = ("<", "<=", ">", ">=", "==", "!=")
_LOOPS = ("T.serial", "T.unroll", "T.parallel", "T.vectorized")
"""Loops of any kind; the interpreter executes them in order."""
_BOUNDS = ("x", "y", "x + 1", "x - 1", "x - y", "3 - x", "y * 2", "x - 1 + y", "2 - y - 1", "(x + y) // 2", "4")
"""Ends of ranges; arguments are small, so that loops are short. A loop may be empty."""


class PythonText(Struct, frozen=True):
    """The body of a function, and its arguments."""

    body: str
    x: int
    y: int

    @property
    def text(self) -> str:
        """The text of the function."""
        head = f'T.prim_func main(B: T.Buffer(({SIZE},), "int32"), x: T.int32, y: T.int32):\n'
        return head + indent(self.body, "    ")

    def __str__(self) -> str:
        return f"# x = {self.x}, y = {self.y}\n{self.text}"

    @classmethod
    def read(cls, text: str) -> PythonText | None:
        """Return the function with this text; None for another text."""
        found = _WRITTEN.search(text)
        return PythonText(dedent(found[3]), int(found[1]), int(found[2])) if found else None

    def expected(self) -> list[int]:
        """Return the elements of `B` after Python has executed the body, if they are 0 before."""
        run = _Python(self.x, self.y)
        run.execute(ast.parse(self.body).body)
        return run.memory


_WRITTEN = re.compile(r"# x = (\d+), y = (\d+)\nT\.prim_func main\(.*\):\n((?:    .*\n)+)")
"""A function as `str` writes it."""


def python_text(choose: Choices) -> PythonText:
    """Return a function of a few statements."""
    writer = _Writer(choose)
    lines = [line for _ in range(choose.number(1, 4)) for line in writer.statement(0)]
    return PythonText("\n".join(lines) + "\n", choose.number(0, 4), choose.number(0, 3))


class _Writer:
    def __init__(self, choose: Choices) -> None:
        self.choose = choose
        self.names = ["x", "y"]

    def statement(self, depth: int) -> list[str]:
        match self.choose.number(0, 6 if depth < 3 else 3):
            case 0 | 1:
                return [f"{self.element()} = {self.value(2)}"]
            case 2:
                return [f"{self.element()} {self.update(2)}"]
            case 3:
                place = self.element()
                return [f"{place} = {place} * 3 + {self.value(1)}"]
            case 4 | 5:
                return self.loop(depth)
            case _:
                return self.branch(depth)

    def update(self, size: int) -> str:
        sign = self.choose.pick(_BINARY)
        right = self.choose.pick(("0", "1", "2", "1 + 1")) if sign in ("<<", ">>") else None
        right = self.choose.pick((*_DIVISORS, "1 + 2", "2 if x < y else 3")) if sign in ("//", "%") else right
        return f"{sign}= {right or self.value(size)}"

    def element(self) -> str:
        return f"B[{self.choose.number(0, SIZE - 1)}]"

    def loop(self, depth: int) -> list[str]:
        names = [self.choose.fresh("i") for _ in range(2 if self.choose.rarely(5) else 1)]
        if len(names) > 1:
            head = f"T.grid({self.bound()}, {self.bound()})"
        else:
            ends = [self.bound(), self.bound(), self.choose.pick(("1", "2", "3"))][: self.choose.number(1, 3)]
            kind = self.choose.pick(("range", "range", *_LOOPS))
            head = f"{kind}({', '.join(ends)})"
        self.names += names
        body = self.statement(depth + 1)
        del self.names[-len(names) :]
        return [f"for {', '.join(names)} in {head}:", *[f"    {line}" for line in body]]

    def bound(self) -> str:
        inner = [name for name in self.names if name.startswith("i")]
        own = (
            [f"{name} + 1" for name in inner]
            + [f"{name} - 1" for name in inner]
            + [f"{name} * 2 - 1" for name in inner]
        )
        return self.choose.pick((*_BOUNDS, *own))

    def branch(self, depth: int) -> list[str]:
        parts = [("if", self.condition(2))]
        parts += [("elif", self.condition(1))] * self.choose.number(0, 1)
        lines = list[str]()
        for word, condition in parts:
            lines += [f"{word} {condition}:", *[f"    {line}" for line in self.statement(depth + 1)]]
        if self.choose.number(0, 1):
            lines += ["else:", *[f"    {line}" for line in self.statement(depth + 1)]]
        return lines

    # --- Expressions: chains of operators without parentheses, so that precedence matters

    def value(self, size: int) -> str:
        parts = [self.operand(size)]
        sign = ""
        for _ in range(self.choose.number(0, size + 1)):  # the count of a shift is the number alone
            sign = self.choose.pick(_LOWER if sign in ("<<", ">>") else _BINARY)
            right = self.choose.pick(("1", "2", "0")) if sign in ("<<", ">>") else None
            right = self.choose.pick(_DIVISORS) if sign in ("//", "%") else right
            parts += [sign, right or self.operand(size)]
        return " ".join(parts)

    def operand(self, size: int) -> str:
        match self.choose.number(0, 9 if size > 0 else 4):
            case 0 | 1:
                return self.choose.pick(self.names)
            case 2:
                return self.choose.pick(_LITERALS)
            case 3:
                return self.element()
            case 4:
                return f"{self.choose.pick(('-', '~', '- '))}{self.choose.pick((*self.names, '3'))}"
            case 5 | 6:
                return f"({self.value(size - 1)})"
            case 7:
                return f"T.{self.choose.pick(('min', 'max'))}({self.value(size - 1)}, {self.value(size - 1)})"
            case 8:
                return f"({self.value(size - 1)} if {self.condition(size - 1)} else {self.value(size - 1)})"
            case _:
                return f"-({self.value(size - 1)})"

    def condition(self, size: int) -> str:
        parts = [self.comparison(size)]
        for _ in range(self.choose.number(0, size)):
            parts += [self.choose.pick(("and", "or")), self.comparison(size)]
        return " ".join(parts)

    def comparison(self, size: int) -> str:
        compared, *others = [self.value(size - 1) for _ in range(self.choose.pick((2, 2, 3)))]
        for value in others:
            is_bare = value is not others[-1] and not _BITS.isdisjoint(value)
            compared += f" {self.choose.pick(_ORDERS)} {f'({value})' if is_bare else value}"
        return f"not {compared}" if self.choose.rarely(4) else compared


_Binary = Callable[[int, int], int]
_OPERATORS: dict[type[ast.operator], _Binary] = {
    ast.Add: int.__add__, ast.Sub: int.__sub__, ast.Mult: int.__mul__, ast.FloorDiv: int.__floordiv__, ast.Mod: int.__mod__,
    ast.BitAnd: int.__and__, ast.BitOr: int.__or__, ast.BitXor: int.__xor__, ast.LShift: int.__lshift__, ast.RShift: int.__rshift__,
}  # fmt: skip
_SIGNS: dict[type[ast.unaryop], Callable[[int], int]] = {
    ast.USub: operator.neg, ast.Invert: operator.invert, ast.Not: operator.not_,
}  # fmt: skip
_COMPARISONS: dict[type[ast.cmpop], Callable[[int, int], bool]] = {
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge, ast.Eq: operator.eq, ast.NotEq: operator.ne,
}  # fmt: skip


class _Python:
    """Executes the statements of a body as Python does, on 32-bit integers."""

    def __init__(self, x: int, y: int) -> None:
        self.names, self.memory = {"x": x, "y": y}, [0] * SIZE

    def execute(self, statements: Sequence[ast.stmt]) -> None:
        for statement in statements:
            match statement:
                case ast.Assign(targets=[ast.Subscript() as target], value=value):
                    self.memory[self.value(target.slice)] = self.value(value)
                case ast.AugAssign(target=ast.Subscript() as target, op=sign, value=value):
                    place = self.value(target.slice)
                    self.memory[place] = self.apply(sign, self.memory[place], self.value(value))
                case ast.If(test=test, body=body, orelse=other):
                    self.execute(body if self.value(test) else other)
                case ast.For(target=target, iter=ast.Call(args=args), body=body):
                    numbers = [self.value(arg) for arg in args]
                    if isinstance(target, ast.Tuple):
                        self.repeat([part.id for part in target.elts if isinstance(part, ast.Name)], numbers, body)
                    elif isinstance(target, ast.Name):
                        for self.names[target.id] in range(*numbers):
                            self.execute(body)
                case _:
                    raise ValueError(ast.dump(statement))

    def repeat(self, names: Sequence[str], sizes: Sequence[int], body: Sequence[ast.stmt]) -> None:
        """Execute the body of a `T.grid`."""
        if not names:
            return self.execute(body)
        for self.names[names[0]] in range(sizes[0]):
            self.repeat(names[1:], sizes[1:], body)
        return None

    def apply(self, sign: ast.operator, a: int, b: int) -> int:
        return wrap(_OPERATORS[type(sign)](a, b), "int32")

    def value(self, node: ast.expr) -> int:
        match node:
            case ast.Constant(value=int(number)):
                return number
            case ast.Name(id=name):
                return self.names[name]
            case ast.Subscript(slice=index):
                return self.memory[self.value(index)]
            case ast.BinOp(left=a, op=sign, right=b):
                return self.apply(sign, self.value(a), self.value(b))
            case ast.UnaryOp(op=sign, operand=a):
                return wrap(_SIGNS[type(sign)](self.value(a)), "int32")
            case ast.BoolOp(op=word, values=values):
                return (all if isinstance(word, ast.And) else any)(self.value(part) for part in values)
            case ast.Compare(left=first, ops=signs, comparators=others):
                numbers = [self.value(part) for part in (first, *others)]
                return all(
                    _COMPARISONS[type(sign)](a, b) for sign, a, b in zip(signs, numbers, numbers[1:], strict=False)
                )
            case ast.IfExp(test=test, body=yes, orelse=no):
                return self.value(yes if self.value(test) else no)
            case ast.Call(func=ast.Attribute(attr=name), args=args):
                return (min if name == "min" else max)(self.value(arg) for arg in args)
            case _:
                raise ValueError(ast.dump(node))
