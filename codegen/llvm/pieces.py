"""Split huge functions into pieces: parts of a body become functions that it calls.

LLVM's compile time grows faster than linearly with the size of a function, a loop body or a loop nest. No
emitted function is longer than a few pieces, so that compile time is proportional to the length of a program. A
piece costs one call at run time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias, TypeVar

from msgspec import Struct, field

from ...ir import tir
from ...ir.base import Node, Op
from ...ir.jumps import is_jump
from ...ir.variables import defined_variables
from ...ir.visit import children
from .api import LLVMType, Value, ir
from .expressions import RECORD_POINTER
from .operators import number
from .shared import LLVMModule
from .statements import StatementEmitter
from .types import I32, POINTER, register_type

WHOLE = 20_000
"""Maximum number of nodes of a function that is not split: twice the size of the largest kernels of the default
schedules.
"""
PIECE = 3_000
"""Number of nodes of a piece of statements."""
VALUE = 1_500
"""Minimum number of nodes of an expression that is emitted as a piece."""
NEST = 16
"""Minimum depth of a loop nest that is emitted as a piece."""
LOOP = 75
"""Number of nodes that a loop counts as: LLVM's loop passes take the most time."""
PARAMETER = 40
"""Number of nodes that a parameter counts as: it is live in all of the function, and is spilled."""
_RET = Op("tir.ret")
_JUMPS, _RETURNS = 1, 2
_EXPRESSION_OR_STATEMENT = (tir.PrimExpr, tir.Stmt)

_Part: TypeAlias = tuple[tuple[tir.Stmt, ...], frozenset[tir.Var]]
"""Consecutive statements, and the variables of the enclosing code that they use."""


class Pieces(Struct):
    """The pieces of a function: expressions, statements and parts of sequences, with the variables of the enclosing
    code that each uses.
    """

    uses: dict[Node, frozenset[tir.Var]] = field(default_factory=dict[Node, frozenset[tir.Var]])
    parts: dict[tir.SeqStmt, list[_Part]] = field(default_factory=dict[tir.SeqStmt, "list[_Part]"])
    """Parts of one statement are emitted inline."""


def pieces_of(function: tir.PrimFunc) -> Pieces:
    """Return the pieces of `function`; none unless it, an expression or a loop nest in it is huge."""
    if _is_small(function):
        return Pieces()
    pieces, weight = _Splitter(cuts_statements=False).cut(function.body)
    if PARAMETER * len(function.params) + weight <= WHOLE:
        return pieces
    return _Splitter(cuts_statements=True).cut(function.body)[0]


def _is_small(function: tir.PrimFunc) -> bool:
    """Return whether `function` is short, and its expressions and loop nests as well: true of most functions, and fast."""
    weight = PARAMETER * len(function.params)
    statements: list[tuple[tir.Stmt, int]] = [(function.body, 0)]
    while statements:
        stmt, depth = statements.pop()
        weight += _weight_of(stmt)
        depth += isinstance(stmt, tir.For | tir.While)
        size, below = 0, list(children(stmt))
        while below:
            node = below.pop()
            if isinstance(node, tir.PrimExpr):
                size += 1
                below += children(node)
            elif isinstance(node, tir.Stmt):
                statements.append((node, depth))
        weight += size
        if size >= VALUE or depth >= NEST or weight > WHOLE:
            return False
    return True


def _weight_of(node: Node) -> int:
    return 1 + LOOP if isinstance(node, tir.For | tir.While) else 1


class _Splitter:
    """Splits bottom-up: a node becomes a piece when what remains of it is large enough."""

    def __init__(self, cuts_statements: bool) -> None:
        self.pieces = Pieces()
        self._cuts_statements = cuts_statements
        self._heights: dict[Node, int] = {}
        """Depth of the loop nest, without loops that are in pieces."""
        self._sizes: dict[Node, int] = {}
        """Number of nodes, without those in pieces."""
        self._leaves: dict[Node, int] = {}
        """Whether a descendant returns from the function, or jumps out of it."""

    def cut(self, body: tir.Stmt) -> tuple[Pieces, int]:
        """Return the pieces of `body`, and the weight of what remains."""
        stack: list[tuple[Node, tuple[Node, ...] | None]] = [(body, None)]
        while stack:
            node, below = stack.pop()
            if node in self._sizes:
                continue
            if below is None:
                below = _below(node)
                stack.append((node, below))
                stack += [(inner, None) for inner in reversed(below)]
            else:
                self._visit(node, below)
        return self.pieces, self._sizes[body]

    def _visit(self, node: Node, below: Sequence[Node]) -> None:
        if not below and not isinstance(node, tir.Call):
            self._leaves[node] = self._heights[node] = 0
            self._sizes[node] = 1
            return
        own = _JUMPS if is_jump(node) else _RETURNS if isinstance(node, tir.Call) and node.op == _RET else 0
        height = 0
        for inner in below:
            own |= self._leaves[inner]
            height = max(height, self._heights[inner])
        is_loop = isinstance(node, tir.For | tir.While)
        self._leaves[node] = own & ~_JUMPS if is_loop else own
        height += is_loop
        if isinstance(node, tir.SeqStmt) and self._cuts_statements:
            size = self._cut_sequence(node)
        else:
            size = _weight_of(node) + sum(self._sizes[inner] for inner in below)
        if self._is_huge(node, size, height) and not self._leaves[node]:
            self.pieces.uses[node] = self._variables((node,))
            size, height = 1, 0
        self._sizes[node], self._heights[node] = size, height

    def _is_huge(self, node: Node, size: int, height: int) -> bool:
        if isinstance(node, tir.PrimExpr):
            return size >= VALUE and node.dtype not in ("void", "handle")
        if isinstance(node, tir.SeqStmt):
            return False
        return height >= NEST or (self._cuts_statements and size >= PIECE)

    def _cut_sequence(self, sequence: tir.SeqStmt) -> int:
        """Split a large sequence into parts of the size of a piece; return the size of what remains."""
        total = sum(self._sizes[stmt] for stmt in sequence.seq)
        if total < PIECE:
            return total
        parts: list[_Part] = []
        left, taken, size = 0, list[tir.Stmt](), 0
        for position, stmt in enumerate(sequence.seq):
            if not self._leaves[stmt]:
                taken.append(stmt)
                size += self._sizes[stmt]
            is_last = position + 1 == len(sequence.seq)
            if taken and (size >= PIECE or is_last or self._leaves[stmt]):
                is_cut = len(taken) > 1
                parts.append((tuple(taken), self._variables(taken) if is_cut else frozenset()))
                left, taken, size = left + (1 if is_cut else size), [], 0
            if self._leaves[stmt]:
                parts.append(((stmt,), frozenset()))
                left += self._sizes[stmt]
        self.pieces.parts[sequence] = parts
        return left

    def _variables(self, piece: Iterable[Node]) -> frozenset[tir.Var]:
        """Return the free variables of a piece; the variables of nested pieces are already known."""
        used, defined = set[tir.Var](), set[Any]()
        stack, seen = list(piece), set[Node]()
        top = set(stack)
        while stack:
            node = stack.pop()
            if node in seen:
                continue
            seen.add(node)
            known = None if node in top else self.pieces.uses.get(node)
            if known is not None:
                used |= known
                continue
            if isinstance(node, tir.Var):
                used.add(node)
                continue
            defined.update(defined_variables(node))
            if isinstance(node, tir.SeqStmt) and node in self.pieces.parts:
                for part, uses in self.pieces.parts[node]:
                    used |= uses
                    stack += part if len(part) == 1 else ()
                continue
            stack += children(node)
        return frozenset(used - defined)


def _below(node: Node) -> tuple[Node, ...]:
    return tuple([child for child in children(node) if isinstance(child, _EXPRESSION_OR_STATEMENT)])


# --- Emission -------------------------------------------------------------------------------------------------


class PieceEmitter(StatementEmitter):
    """Emits the pieces of a function as functions that it calls, and the rest inline."""

    def __init__(self, module: LLVMModule, function: Value, results: Value | None) -> None:
        super().__init__(module, function, results)
        self.pieces = Pieces()

    def run(self, stmt: tir.Stmt) -> None:
        """Emit `stmt`, unless it is unreachable."""
        uses = self.pieces.uses.get(stmt)
        if uses is None or self.builder.block.is_terminated:
            self.run_whole(stmt)
        else:
            _emit_statements(self, (stmt,), uses)

    def emit(self, expr: tir.PrimExpr) -> Value:
        uses = self.pieces.uses.get(expr)
        return self.emit_whole(expr) if uses is None else _emit_value(self, expr, uses)

    def run_sequence(self, stmt: tir.SeqStmt) -> None:
        parts = self.pieces.parts.get(stmt)
        if parts is None:
            super().run_sequence(stmt)
            return
        for part, uses in parts:
            if len(part) == 1:
                self.run(part[0])
            elif not self.builder.block.is_terminated:
                _emit_statements(self, part, uses)


_Emitter = TypeVar("_Emitter", bound=PieceEmitter)


def function_of(
    emitter: _Emitter, suffix: str, captured: Iterable[tir.Var], more: Sequence[LLVMType], node: Node
) -> tuple[Value, _Emitter, list[Value]]:
    """Create a function for `node` whose parameters are the captured variables and `more`; return it, its emitter and the
    captured values.
    """
    variables = [RECORD_POINTER, *(var for var in captured if var is not RECORD_POINTER and var in emitter.values)]
    values = [emitter.values[var] for var in variables]
    module = emitter.module.module
    name = module.get_unique_name(f"{emitter.function.name}.{suffix}")
    function = ir.Function(module, ir.FunctionType(I32, [*(value.type for value in values), *more]), name)
    function.linkage = "internal"
    function.attributes.add("nounwind")
    inner = type(emitter)(emitter.module, function, None)
    inner.locate(node, emitter)
    inner.pieces, inner.fast_math = emitter.pieces, emitter.fast_math
    for var, value, argument in zip(variables, values, function.args, strict=False):
        inner.values[var] = argument
        if value in emitter.alone:
            argument.add_attribute("noalias")
            inner.alone.append(argument)
    return function, inner, values


def _defined(emitter: PieceEmitter, uses: frozenset[tir.Var]) -> list[tir.Var]:
    """Return the variables of `uses` in the order of their definitions."""
    return [var for var in emitter.values if var in uses]


def _emit_statements(emitter: PieceEmitter, piece: Sequence[tir.Stmt], uses: frozenset[tir.Var]) -> None:
    """Emit statements as a function and a call of it; a fault in it is a fault of the enclosing function."""
    function, inner, values = function_of(emitter, "piece", _defined(emitter, uses), (), piece[0])
    function.attributes.add("noinline")
    for stmt in piece:
        inner.run_whole(stmt)
    if not inner.builder.block.is_terminated:
        inner.leave(number(I32, 0))
    emitter.fail_with(emitter.builder.call(function, values))


def _emit_value(emitter: PieceEmitter, expr: tir.PrimExpr, uses: frozenset[tir.Var]) -> Value:
    """Emit an expression as a function and a call of it; return the value."""
    result_type = register_type(expr.dtype, expr.span)
    function, inner, values = function_of(emitter, "value", _defined(emitter, uses), (POINTER,), expr)
    function.attributes.add("noinline")
    value = inner.emit_whole(expr)
    inner.builder.store(value, function.args[-1])
    inner.leave(number(I32, 0))
    place = emitter.stack_memory(result_type, 64)
    emitter.fail_with(emitter.builder.call(function, [*values, place]))
    return emitter.builder.load(place, typ=result_type)
