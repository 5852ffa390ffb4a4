"""Patterns of statements in schedules: `for _ in _: C[_] += _`. `_` is anything; other names are those of the program.

A pattern is read as the syntax of an expression or statement; nothing in it is executed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from msgspec import Struct

from ... import tir
from ...equal import structural_equal
from ...visit import walk
from ..conditions import Condition
from ..program import Program

MATCHES = Condition(
    "E0596",
    "the pattern matches one statement",
    'write "C[_] += _" or "for k in _: C[_] = max(_, A[_])"; a name in place of _ is more specific',
)
_LONGEST = 1000
"""Maximum number of characters of a pattern."""
_OPERATORS: dict[type[ast.operator], type[tir.BinaryOp]] = {
    ast.Add: tir.Add, ast.Sub: tir.Sub, ast.Mult: tir.Mul, ast.Div: tir.Div, ast.FloorDiv: tir.FloorDiv, ast.Mod: tir.FloorMod,
}  # fmt: skip
_FUNCTIONS: dict[str, type[tir.BinaryOp]] = {"max": tir.Max, "min": tir.Min}
_COMMUTATIVE = (tir.Add, tir.Mul, tir.Max, tir.Min)


class Pattern(Struct, frozen=True):
    """Pattern: the loops right around a block, outermost first, and a store in the block; None for any statement."""

    loops: tuple[ast.For, ...]
    store: ast.Assign | ast.AugAssign | None


def read_pattern(text: str) -> Pattern:
    """Return the pattern in a text; refused if it is none (E0596)."""
    if len(text) > _LONGEST:
        raise MATCHES.refuse(f"the pattern has more than {_LONGEST} characters", argument="pattern")
    try:
        body = ast.parse(text.strip()).body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as wrong:
        reason = wrong.msg if isinstance(wrong, SyntaxError) else "it cannot be read"
        raise MATCHES.refuse(f"invalid pattern: {reason}", argument="pattern") from None
    loops: list[ast.For] = []
    while len(body) == 1 and isinstance(body[0], ast.For):
        loops.append(body[0])
        body = body[0].body
    leaf = body[0] if len(body) == 1 else None
    if isinstance(leaf, ast.AugAssign) or (isinstance(leaf, ast.Assign) and len(leaf.targets) == 1):
        return Pattern(tuple(loops), leaf)
    if isinstance(leaf, ast.Expr) and _is_any(leaf.value):
        return Pattern(tuple(loops), None)
    raise MATCHES.refuse("the pattern is not a store, or loops around one", argument="pattern")


def matches(program: Program, root: tir.Stmt, pattern: Pattern) -> list[tuple[tir.For | tir.Block, ...]]:
    """Return the loops and the block of each match, in textual order."""
    found: list[tuple[tir.For | tir.Block, ...]] = []
    for realize in (node for node in walk(root) if isinstance(node, tir.BlockRealize)):
        block, count = realize.block, len(pattern.loops)
        if program.scope_of(block) is None:
            continue
        loops = program.loops_of(block)
        own = loops[len(loops) - count :]
        if len(loops) < count or not all(map(_is_loop, own, pattern.loops)):
            continue
        if pattern.store is None or any(_is_store(store, pattern.store) for store in _stores(block.body)):
            found.append((*own, block))
    return found


def _stores(body: tir.Stmt) -> Iterator[tir.BufferStore]:
    """Yield the stores of a block, without those of blocks in it."""
    stack = [body]
    while stack:
        node = stack.pop()
        if isinstance(node, tir.BufferStore):
            yield node
        elif isinstance(node, tir.SeqStmt):
            stack.extend(reversed(node.seq))
        elif isinstance(node, tir.IfThenElse):
            stack.extend([part for part in (node.else_case, node.then_case) if part is not None])
        elif isinstance(node, tir.For | tir.LetStmt | tir.AttrStmt):
            stack.append(node.body)


def _is_loop(loop: tir.For, pattern: ast.For) -> bool:
    has_name = _is_any(pattern.target) or (
        isinstance(pattern.target, ast.Name) and pattern.target.id == loop.loop_var.name
    )
    extent = pattern.iter
    if isinstance(extent, ast.Call) and isinstance(extent.func, ast.Name) and extent.func.id == "range" and extent.args:
        extent = extent.args[-1]
    return has_name and _is_value(loop.extent, extent)


def _is_store(store: tir.BufferStore, pattern: ast.Assign | ast.AugAssign) -> bool:
    if isinstance(pattern, ast.Assign):
        return _is_access(store.buffer, store.indices, pattern.targets[0]) and _is_value(store.value, pattern.value)
    kind = _OPERATORS.get(type(pattern.op))
    if kind is None or not _is_access(store.buffer, store.indices, pattern.target) or not isinstance(store.value, kind):
        return False
    pairs = [(store.value.a, store.value.b)]
    if kind in _COMMUTATIVE:
        pairs.append((store.value.b, store.value.a))
    return any(_is_own(old, store) and _is_value(new, pattern.value) for old, new in pairs)


def _is_own(value: tir.PrimExpr, store: tir.BufferStore) -> bool:
    """Return whether a value is the element that a store replaces."""
    return (
        isinstance(value, tir.BufferLoad)
        and value.buffer is store.buffer
        and all(structural_equal(a, b) for a, b in zip(value.indices, store.indices, strict=True))
    )


def _is_any(pattern: ast.expr) -> bool:
    return isinstance(pattern, ast.Name) and pattern.id == "_"


def _is_access(buffer: tir.Buffer, indices: Sequence[tir.PrimExpr], pattern: ast.expr) -> bool:
    if not (isinstance(pattern, ast.Subscript) and isinstance(pattern.value, ast.Name)):
        return _is_any(pattern)
    if pattern.value.id not in ("_", buffer.name):
        return False
    if _is_any(pattern.slice):
        return True
    parts = pattern.slice.elts if isinstance(pattern.slice, ast.Tuple) else [pattern.slice]
    return len(parts) == len(indices) and all(map(_is_value, indices, parts))


def _is_value(value: tir.PrimExpr, pattern: ast.expr) -> bool:
    """Return whether an expression matches a pattern; casts match if what they convert does."""
    if isinstance(value, tir.Cast) and not _is_any(pattern):
        return _is_value(value.value, pattern)
    match pattern:
        case ast.Name(id=name):
            return name == "_" or (isinstance(value, tir.Var) and value.name == name)
        case ast.Constant(value=number):
            return isinstance(value, tir.IntImm | tir.FloatImm) and value.value == number
        case ast.Subscript():
            return isinstance(value, tir.BufferLoad) and _is_access(value.buffer, value.indices, pattern)
        case ast.BinOp(left=left, op=op, right=right):
            return _is_pair(value, _OPERATORS.get(type(op)), left, right)
        case ast.Call(func=ast.Name(id=name), args=[left, right]) if name in _FUNCTIONS:
            return _is_pair(value, _FUNCTIONS[name], left, right)
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=args):
            if not isinstance(value, tir.Call) or getattr(value.op, "name", "").rpartition(".")[2] != name:
                return False
            given = [arg for arg in value.args if isinstance(arg, tir.PrimExpr)]
            return len(value.args) == len(given) == len(args) and all(map(_is_value, given, args))
        case _:
            return False


def _is_pair(value: tir.PrimExpr, kind: type[tir.BinaryOp] | None, left: ast.expr, right: ast.expr) -> bool:
    if kind is None or not isinstance(value, kind):
        return False
    is_swapped = kind in _COMMUTATIVE and _is_value(value.b, left) and _is_value(value.a, right)
    return is_swapped or (_is_value(value.a, left) and _is_value(value.b, right))
