"""A loop function under construction: its statements so far, and its open blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar

from msgspec import Struct
from msgspec.structs import replace

from ...ir import tir
from ...ir.base import Attrs, Span, Trivia
from ...ir.idioms import is_zero, sequence
from ...ir.visit import walk
from .. import syntax
from ..comments import comments_of
from ..declarations import declaration_key
from .convert import is_tuple

Wrap = Callable[[tir.Stmt, Span, Trivia | None], tir.Stmt]
"""Wraps a body in a frame, given the span and the comments of the frame."""


class Frame(Struct, frozen=True, eq=False):
    """A statement that has a body; `value` is what it defines, by `as` or by assignment."""

    kind: ClassVar[str] = "a statement with a body"

    value: Any
    wrap: Wrap


class LoopFrame(Frame, frozen=True, eq=False):
    """A loop or a nest of loops; `value` is its variable, or the tuple of its variables."""

    kind: ClassVar[str] = "a loop"


def let_frame(var: tir.Var, value: tir.PrimExpr) -> Frame:
    """Return the frame of `LetStmt(var, value, …)`."""
    return Frame(var, lambda body, span, trivia: tir.LetStmt(var, value, body, span=span, trivia=trivia))


def assert_frame(condition: tir.PrimExpr, message: str | tuple[Any, ...]) -> Frame:
    """Return the frame of `AssertStmt(condition, message, …)`; a message may be `("ValueError", ["part", …])`."""
    kind, parts = "", ()
    if not isinstance(message, str):
        kind, *rest = message
        parts = tuple([str(part) for part in rest[0]])
        message = "".join(parts)
        if len(parts) == 1 and kind == "RuntimeError":
            kind, parts = "", ()
    text = tir.StringImm("handle", message)
    return Frame(
        None,
        lambda body, span, trivia: tir.AssertStmt(condition, text, body, kind, parts, span=span, trivia=trivia),
    )


def is_message(value: Any) -> bool:
    """Return whether a value is the message of an assertion: a string, or `("ValueError", ["part", …])`."""
    if isinstance(value, str):
        return True
    pair = value if is_tuple(value) and len(value) == 2 else ("", None)
    return isinstance(pair[0], str) and is_tuple(pair[1]) and all(isinstance(part, str) for part in pair[1])


class Expansion(Struct, frozen=True, eq=False):
    """A use of the macro `name`: `build` adds its statements to the innermost body."""

    name: str
    build: Callable[[], None]


class InitFrame(Struct, frozen=True, eq=False):
    """`with T.init():`"""

    kind: ClassVar[str] = "T.init()"


class BlockFrame:
    """A block under construction; `reads` and `writes` are None until they are declared."""

    kind: ClassVar[str] = "a block"

    def __init__(self, name: str, realize: bool) -> None:
        self.name = name
        self.realize = realize
        self.iter_vars: list[tir.IterVar] = []
        self.iter_values: list[tir.PrimExpr] = []
        self.predicate: tir.PrimExpr | None = None
        self.reads: tuple[tir.BufferRegion, ...] | None = None
        self.writes: tuple[tir.BufferRegion, ...] | None = None
        self.annotations: Attrs = {}
        self.alloc_buffers: list[tir.Buffer] = []
        self.match_buffers: list[tir.MatchBufferRegion] = []
        self.init: tir.Stmt | None = None


class Body:
    """The statements of one body, in order. A frame opened without `with` extends to the end of the body.

    `declares` marks the body of a block or function, whose trivia hold the comments of declarations.
    """

    def __init__(self, declares: bool = False) -> None:
        self._declares = declares
        self._parts: list[tuple[str, Trivia]] = []
        self._items: list[tir.Stmt | tuple[Wrap, Span, Trivia | None]] = []
        self._comments: list[str] = []
        self._nothing: tuple[tir.Stmt, int] | None = None
        """The last `T.evaluate(0)`, and the number of comments kept before it."""

    def add(self, statement: tir.Stmt) -> None:
        """Append a statement with the comments kept for it; of `T.evaluate(0)` beside others only the comments remain."""
        if isinstance(statement, tir.Evaluate) and is_zero(statement.value):
            self._nothing = statement, len(self._comments)
            return self.keep(statement.trivia)
        if self._comments:
            statement = replace(statement, trivia=self._joined(statement.trivia))
        return self._items.append(statement)

    def open(self, frame: Frame, span: Span, trivia: Trivia | None) -> None:
        """Open `frame` around all following statements."""
        self._items.append((frame.wrap, span, self._joined(trivia)))

    def statements(self) -> Iterator[tir.Stmt]:
        """Yield the statements so far."""
        return (item for item in self._items if isinstance(item, tir.Stmt))

    def keep(self, trivia: Trivia | None, declaration: syntax.Stmt | None = None) -> None:
        """Keep comments that do not belong to a statement: those of a declaration, else for the next statement."""
        key = declaration_key(declaration) if declaration is not None and self._declares else None
        if trivia is not None and key is not None:
            self._parts.append((key, trivia))
        else:
            self._comments += comments_of(trivia)

    def close(self) -> tuple[tir.Stmt, Trivia | None]:
        """Return the body as one statement, and the comments that belong to none of its statements."""
        if not self._items and self._nothing is not None:
            nothing, count = self._nothing
            self._comments, after = self._comments[:count], self._comments[count + len(comments_of(nothing.trivia)) :]
            self._items.append(replace(nothing, trivia=self._joined(nothing.trivia)))
            self._comments = after
        stack: list[tir.Stmt] = []
        for item in reversed(self._items):
            if isinstance(item, tir.Stmt):
                stack.append(item)
            else:
                wrap, span, trivia = item
                stack = [wrap(sequence(stack[::-1]), span, trivia)]
        rest = Trivia(end=tuple(self._comments), parts=tuple(self._parts))
        return sequence(stack[::-1]), rest if rest.end or rest.parts else None

    def _joined(self, trivia: Trivia | None) -> Trivia | None:
        if not self._comments:
            return trivia
        comments, self._comments = tuple(self._comments), []
        return Trivia(comments) if trivia is None else replace(trivia, before=comments + trivia.before)


class FunctionFrame:
    """A loop function under construction."""

    def __init__(self, depth: int) -> None:
        self.depth = depth
        """Number of open frames of names around the function."""
        self.params: list[tir.Var] = []
        self.buffer_map: dict[tir.Var, tir.Buffer] = {}
        self.attrs: Attrs = {}
        self.dimensions: dict[str, tir.Var] = {}
        """Symbolic dimensions that the signature introduces; a declaration in the body refers to the same variable."""
        self.root_buffers: list[tir.Buffer] = []
        self.declared_buffers: list[tir.Buffer] = []
        self.allocated_buffers: list[tir.Buffer] = []
        """Buffers that the statement `T.alloc_buffer` allocates, of which the program may use only the data pointer."""
        self.loops: dict[tir.Var, tir.Range] = {}
        """The domain of each loop variable, for `T.axis.remap`."""
        self.threads: dict[tir.Var, tir.IterVar] = {}
        """Threads of `T.env_thread`, by variable."""
        self.blocks: list[BlockFrame] = []
        self.bodies: list[Body] = [Body(declares=True)]
        self.no_buffers: set[str] = set()
        """Names of other values that were reported as used like buffers."""
        self.has_block = False
        self.last_block_as_written: tir.Block | None = None
        """The last finished block without detected regions: a root block has only declared regions."""

    @property
    def body(self) -> Body:
        """The innermost body."""
        return self.bodies[-1]

    def uses(self, var: tir.Var) -> bool:
        """Return whether a statement so far uses `var`."""
        return any(var is node for body in self.bodies for statement in body.statements() for node in walk(statement))

    def visible_buffers(self) -> tuple[tir.Buffer, ...]:
        """Return the buffers that the innermost block can access, including those of enclosing blocks."""
        buffers = [*self.buffer_map.values(), *self.root_buffers, *self.declared_buffers]
        for block in self.blocks:
            buffers += block.alloc_buffers
            buffers += [match.buffer for match in block.match_buffers]
        return tuple(buffers)
