"""The update of a block as a function from the old values of the elements that it stores to the new ones.

Let-bound variables, several stores and conditions are interpreted statement by statement, on numbers; other loads
in the body are operands of the function. Integers wrap around like their dtype. Others are exact: fractions, or floats if they are only compared.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import product
from typing import TypeAlias

from .. import tir
from ..base import Node, Op
from ..dtype import is_float, is_int, parse_dtype
from ..fold import wrap
from ..visit import children, walk

Number: TypeAlias = int | float | Fraction
Key: TypeAlias = tuple[object, ...]

_BINARY: dict[type[tir.PrimExpr], Callable[[Number, Number], Number]] = {
    tir.Add: lambda a, b: a + b, tir.Sub: lambda a, b: a - b, tir.Mul: lambda a, b: a * b,
    tir.Min: min, tir.Max: max, tir.EQ: lambda a, b: a == b, tir.NE: lambda a, b: a != b,
    tir.LT: lambda a, b: a < b, tir.LE: lambda a, b: a <= b, tir.GT: lambda a, b: a > b, tir.GE: lambda a, b: a >= b,
    tir.And: lambda a, b: int(bool(a and b)), tir.Or: lambda a, b: int(bool(a or b)),
    tir.FloorDiv: lambda a, b: a // b, tir.FloorMod: lambda a, b: a % b,
}  # fmt: skip
_COMMUTE = (tir.Add, tir.Mul, tir.Min, tir.Max, tir.And, tir.Or)


class _Unknown(Exception):
    """An expression that exact numbers cannot evaluate."""


class Update:
    """The update of `body`; `elements` are the elements it stores, `operands` its other distinct loads and variables.

    `update(old, operands)` returns the new values of the elements, in order.
    """

    def __init__(self, body: tir.Stmt, takes_others: bool = False) -> None:
        self.body, self._takes_others = body, takes_others
        self.elements: dict[Key, tir.BufferStore] = {}
        self.operands: dict[Key, tir.PrimExpr] = {}
        self._bound: set[Node] = set()
        self._find_elements(body)
        self._memory = {store.buffer.data for store in self.elements.values()}
        self._find_operands(body)

    @staticmethod
    def of(body: tir.Stmt, takes_others: bool = False) -> Update | None:
        """Return the update of `body`; None if it cannot be evaluated, or if it reads elements that other steps may store.

        With `takes_others`, other elements of the stored memory are operands, for updates that are applied only once.
        """
        try:
            return Update(body, takes_others)
        except _Unknown:
            return None

    def is_plain(self) -> bool:
        """Whether each element is combined once, by a commutative operation, with a value that reads no stored element."""
        values: dict[tir.PrimExpr, tir.PrimExpr] = {
            node.var: node.value for node in walk(self.body) if isinstance(node, tir.LetStmt)
        }
        stores = [node for node in walk(self.body) if isinstance(node, tir.BufferStore)]
        if len(stores) != len(self.elements) or any(isinstance(node, tir.IfThenElse) for node in walk(self.body)):
            return False
        return all(self._is_plain(store, values.get(store.value, store.value)) for store in stores)

    def _is_plain(self, store: tir.BufferStore, value: tir.PrimExpr) -> bool:
        if not isinstance(value, tir.BinaryOp):
            return False
        own = _key(tir.BufferLoad(store.buffer.dtype, store.buffer, store.indices))
        for element, other in ((value.a, value.b), (value.b, value.a)):
            commutes = isinstance(value, _COMMUTE) or (isinstance(value, tir.Sub) and element is value.a)
            if commutes and isinstance(element, tir.BufferLoad) and _key(element) == own:
                return not any(
                    node in self._bound or (isinstance(node, tir.BufferLoad) and node.buffer.data in self._memory)
                    for node in walk(other)
                )
        return False

    # --- What it is made of

    def _find_elements(self, stmt: tir.Stmt) -> None:
        match stmt:
            case tir.SeqStmt():
                for statement in stmt.seq:
                    self._find_elements(statement)
            case tir.LetStmt():
                self._find_elements(stmt.body)
            case tir.IfThenElse():
                for branch in (stmt.then_case, stmt.else_case):
                    if branch is not None:
                        self._find_elements(branch)
            case tir.BufferStore(predicate=None):
                if any(isinstance(node, tir.BufferLoad) for index in stmt.indices for node in walk(index)):
                    raise _Unknown
                self.elements.setdefault(_key(_element(stmt)), stmt)
            case _:
                raise _Unknown

    def _find_operands(self, node: Node) -> None:
        match node:
            case tir.LetStmt() | tir.Let():
                self._find_operands(node.value)
                self._bound.add(node.var)
                self._find_operands(node.body)
            case tir.BufferStore():
                self._find_operands(node.value)
            case tir.BufferLoad():
                if any(
                    isinstance(inner, tir.BufferLoad) and inner.buffer.data in self._memory
                    for index in node.indices
                    for inner in walk(index)
                ) or any(inner in self._bound for index in node.indices for inner in walk(index)):
                    raise _Unknown
                is_other = _key(node) not in self.elements
                if node.buffer.data not in self._memory or (is_other and self._takes_others):
                    self.operands.setdefault(_key(node), node)
                elif is_other:
                    raise _Unknown
            case tir.Var():
                if node not in self._bound:
                    self.operands.setdefault(_key(node), node)
            case tir.Stmt():
                for child in children(node):
                    self._find_operands(child)
            case tir.PrimExpr():
                for part in _parts(node):
                    self._find_operands(part)
            case _:
                pass

    # --- What it computes

    def __call__(self, old: Sequence[Number], operands: Mapping[Key, Number]) -> tuple[Number, ...]:
        """Return the new values of the elements."""
        values: dict[Key, Number] = {**operands, **dict(zip(self.elements, old, strict=True))}
        self._run(self.body, values)
        return tuple([values[key] for key in self.elements])

    def start(self, init: tir.Stmt | None) -> Update | None:
        """Return the update that `init` makes of the elements; None unless it stores each of them and reads none."""
        nodes = [] if init is None else list(walk(init))
        if any(isinstance(node, tir.BufferLoad) and node.buffer.data in self._memory for node in nodes):
            return None
        found = None if init is None or any(isinstance(node, tir.IfThenElse) for node in nodes) else Update.of(init)
        return found if found is not None and found.elements.keys() >= self.elements.keys() else None

    def _run(self, stmt: tir.Stmt, values: dict[Key, Number]) -> None:
        match stmt:
            case tir.SeqStmt():
                for statement in stmt.seq:
                    self._run(statement, values)
            case tir.LetStmt():
                values[_key(stmt.var)] = self._value(stmt.value, values)
                self._run(stmt.body, values)
            case tir.IfThenElse():
                branch = stmt.then_case if self._value(stmt.condition, values) else stmt.else_case
                if branch is not None:
                    self._run(branch, values)
            case tir.BufferStore():
                values[_key(_element(stmt))] = self._value(stmt.value, values)
            case _:
                raise AssertionError(stmt)

    def _value(self, expr: tir.PrimExpr, values: dict[Key, Number]) -> Number:
        match expr:
            case tir.IntImm():
                return expr.value
            case tir.FloatImm():
                return Fraction(expr.value)
            case tir.BufferLoad() | tir.Var():
                return values[_key(expr)]
            case tir.Let():
                values[_key(expr.var)] = self._value(expr.value, values)
                return self._value(expr.body, values)
            case _:
                numbers = [self._value(part, values) for part in _parts(expr)]
        match expr:
            case tir.BinaryOp():
                found = _BINARY[type(expr)](*numbers)
                return wrap(found, expr.dtype) if is_int(expr.dtype) and isinstance(found, int) else found
            case tir.Not():
                return int(not numbers[0])
            case tir.Cast() if is_int(expr.dtype) and isinstance(numbers[0], int):
                return wrap(numbers[0], expr.dtype)
            case tir.Call(op=Op(name="tir.isnan")):
                return int(numbers[0] != numbers[0])
            case _:
                return numbers[0] if len(numbers) == 1 else numbers[1] if numbers[0] else numbers[2]


def is_plain_update(body: tir.Stmt) -> bool:
    """Whether `body` combines one element once, by a commutative operation, with another value: the common case."""
    if not isinstance(body, tir.BufferStore) or not isinstance(body.value, _COMMUTE):
        return False
    own = [
        node for node in walk(body.value) if isinstance(node, tir.BufferLoad) and node.buffer.data is body.buffer.data
    ]
    if len(own) != 1 or (own[0] is not body.value.a and own[0] is not body.value.b):
        return False
    return all(a is b for a, b in zip(own[0].indices, body.indices, strict=False))


def is_choice(update: Update, index: tir.Var, taken: Key) -> bool:
    """Whether an update of an index and a value keeps the better one of two such pairs, regardless of their order.

    The update combines the stored pair with `index` and the element `taken`. If it only compares values, a few numbers are
    sufficient tests: a law that holds for all orderings of three pairs holds for any pairs.
    """
    if not all(map(_only_compares, _values_in(update.body))):
        return False
    if len(update.elements) != 2 or set(update.operands) != {_key(index), taken}:
        return False
    numbers: tuple[Number, ...] = (0, 1, 2, float("nan")) if is_float(update.operands[taken].dtype) else (0, 1, 2)
    pairs = [_Pair(*pair) for pair in product((-1, 0, 1, 2), numbers)]
    try:
        table = {
            (x, y): _Pair(*update(x.pair, {_key(index): y.pair[0], taken: y.pair[1]})) for x in pairs for y in pairs
        }
        return (
            all(table[x, x] == x for x in pairs)
            and all(table[x, y] == table[y, x] for x in pairs for y in pairs)
            and all(table[table[x, y], z] == table[x, table[y, z]] for x in pairs for y in pairs for z in pairs)
        )
    except KeyError:  # the result is neither of the pairs
        return False


def _values_in(stmt: tir.Stmt) -> list[tir.PrimExpr]:
    """Return the values and conditions in statements."""
    values: dict[type[Node], str] = {tir.LetStmt: "value", tir.BufferStore: "value", tir.IfThenElse: "condition"}
    return [getattr(node, values[type(node)]) for node in walk(stmt) if type(node) in values]


def _only_compares(expr: tir.PrimExpr) -> bool:
    """Whether `expr` only selects among its operands by comparisons."""
    match expr:
        case tir.Var() | tir.BufferLoad():
            return True
        case tir.Cast(value=value):
            a, b = parse_dtype(value.dtype), parse_dtype(expr.dtype)
            is_same = is_float(value.dtype) == is_float(expr.dtype) and a.code != "bool"
            return is_same and a.bits <= b.bits and isinstance(value, tir.Var | tir.BufferLoad)
        case tir.CmpOp() | tir.And() | tir.Or() | tir.Not() | tir.Select() | tir.Call():
            return all(map(_only_compares, _parts(expr)))
        case _:
            return False


class _Pair:
    """An index and a value; NaN equals itself."""

    def __init__(self, index: Number, value: Number) -> None:
        self.pair = (index, value)
        self._shown = (index, "NaN" if value != value else value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Pair) and self._shown == other._shown

    def __hash__(self) -> int:
        return hash(self._shown)


def _element(store: tir.BufferStore) -> tir.BufferLoad:
    return tir.BufferLoad(store.buffer.dtype, store.buffer, store.indices)


def _key(expr: tir.PrimExpr) -> Key:
    """Return a key that two expressions share if and only if they are equal."""
    match expr:
        case tir.Var():
            return (id(expr),)
        case tir.IntImm() | tir.FloatImm():
            return (expr.dtype, expr.value)
        case tir.BufferLoad():
            return ("load", id(expr.buffer.data), *map(_key, expr.indices))
        case tir.Call():
            op = expr.op.name if isinstance(expr.op, Op) else id(expr.op)
            return (op, *[_key(arg) if isinstance(arg, tir.PrimExpr) else id(arg) for arg in expr.args])
        case _:
            parts = [_key(child) for child in children(expr) if isinstance(child, tir.PrimExpr)]
            return (type(expr), expr.dtype, *parts)


def key_of(expr: tir.PrimExpr) -> Key:
    """Return the key of an operand."""
    return _key(expr)


def _parts(expr: tir.PrimExpr) -> tuple[tir.PrimExpr, ...]:
    """Return the operands of an operation that exact numbers support; raises `_Unknown` for others."""
    match expr:
        case tir.IntImm():
            return ()
        case tir.FloatImm() if abs(expr.value) < float("inf"):
            return ()
        case tir.FloorDiv() | tir.FloorMod():
            if is_int(expr.dtype) and isinstance(expr.b, tir.IntImm) and expr.b.value > 0:
                return expr.a, expr.b
        case tir.BinaryOp() if type(expr) in _BINARY:
            return expr.a, expr.b
        case tir.Cast(value=value) if is_float(expr.dtype) or (is_int(expr.dtype) and not is_float(value.dtype)):
            return (value,)
        case tir.Not():
            return (expr.a,)
        case tir.Select():
            return expr.condition, expr.true_value, expr.false_value
        case tir.Call(op=Op(name="tir.if_then_else" | "tir.likely" | "tir.isnan")):
            parts = tuple([arg for arg in expr.args if isinstance(arg, tir.PrimExpr)])
            if len(parts) == len(expr.args):
                return parts
        case _:
            pass
    raise _Unknown
