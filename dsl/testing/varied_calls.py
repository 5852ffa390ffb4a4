"""Calls of graph operators with other attributes, dtypes, ranks and sizes than in `operator_calls`, from their declarations.

A row of that table is changed at a few places, and kept if the operator's own rule accepts it. So each attribute of each
operator is drawn, whatever is declared; for texts, the error of a wrong one tells the right ones.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import permutations
from math import prod
from typing import Any, TypeAlias, cast

from hypothesis import strategies as st
from msgspec.structs import replace

from ...ir import relax
from ...ir.base import NamedAttrs, Op
from ...ir.diagnostics import TvmsError
from ...ir.ops.registry import Param, RelaxOp, find
from ...ir.visit import walk
from ..load import parse
from .choices import Choices, drawn
from .graph import Graph
from .operator_calls import CALLS, DTYPES, NAMES, drawn_call, result_of

_ATTEMPTS = 6
"""Number of changed calls that are tried before a row is used as it is."""
_MOST = 2048
"""Maximum number of elements of an operand or a result."""
_WORD = re.compile(r'"([A-Za-z]\w*)"')
_TEXTS = {
    "subscripts": (
        "ij,jk->ik",
        "ij,kj->ik",
        "ij,ij->i",
        "ij,ji->",
        "ij,kj->ki",
        "ij,ik->jk",
        "ij,jk",
        "ij,k->ijk",
        "...i,...i->...",
    )
}
"""Values of texts that errors do not list."""
_ROUNDED = frozenset(("epsilon",))
"""Attributes that guard against a division by zero: with a small one, rounding errors are amplified."""
_PROMISES = frozenset(("assume_inbound",))
"""Attributes by which the user promises something that a random call does not keep."""
Operand: TypeAlias = Callable[[tuple[int, ...], str], str]
Drawn: TypeAlias = tuple[str, tuple[int, ...], str]


def varied_call(choose: Choices, name: str, operand: Operand) -> Drawn | None:
    """Return the text, shape and dtype of a changed call of the row `name`; None if no change was accepted.

    `operand` returns the name of a value of a shape and dtype.
    """
    call = _call_of(name)
    if call is None:
        return None
    for _ in range(_ATTEMPTS):
        shapes = _shapes(choose, name)
        attrs = dict(call.attrs)
        for _ in range(choose.number(0, 3)):
            _change(choose, call, attrs, shapes)
        if not all(prod(shape) <= _MOST for shape, _ in shapes):
            continue
        text = str(replace(call, attrs=NamedAttrs(attrs.items())))
        infos = tuple([_info(shape, dtype) for shape, dtype in shapes])
        try:
            suffix, shape, dtype = result_of(text, infos)
        except TvmsError:
            continue
        if dtype and min(shape) >= 0 and prod(shape) <= _MOST:
            names = {f"x{at}": operand(tuple(own), kind) for at, (own, kind) in enumerate(shapes)}
            return _replaced(text, names) + suffix, shape, dtype
    return None


def operator_functions(
    names: Sequence[str] = NAMES, most: int = 1, in_turn: bool = False
) -> st.SearchStrategy[relax.Function]:
    """Generate functions of one operator of `operator_calls`, or of two to `most`, of those in `names`, with other attributes, on
    parameters. With `in_turn`, a run of a law meets each operator before it meets one again.
    """

    def function(choose: Choices) -> relax.Function:
        graph = Graph(choose)
        pick = choose.turn if in_turn else choose.pick
        calls = [_call(choose, pick(names), graph) for _ in range(choose.number(min(most, 2), most))]
        head = ", ".join(f"{value.name}: {value.struct_info()}" for value in graph.params)
        lines = [f"    y{place} = {call}\n" for place, call in enumerate(calls)]
        result = "y0" if len(calls) == 1 else f"({', '.join([f'y{place}' for place in range(len(calls))])})"
        made = parse(f"R.function main({head}):\n{''.join(lines)}    return {result}\n").functions["main"]
        assert isinstance(made, relax.Function)
        return made

    return drawn(function)


def _call(choose: Choices, name: str, graph: Graph) -> str:
    """Return the text of a call of an operator, or, if its result is not a tensor, of an addition."""
    found = varied_call(choose, name, graph.exact) or drawn_call(choose, name, graph.exact)
    found = found or drawn_call(choose, "add", graph.exact)
    assert found is not None
    return found[0]


def _replaced(text: str, names: Mapping[str, str]) -> str:
    return re.sub(r"\bx\d+\b", lambda match: names[match[0]], text)


def _info(shape: list[int], dtype: str) -> str:
    return f'R.Tensor(({"".join(f"{size}, " for size in shape)}), "{dtype}")'


# --- Operands -------------------------------------------------------------------------------------------------

Shapes: TypeAlias = list[tuple[list[int], str]]


def _shapes(choose: Choices, name: str) -> Shapes:
    """Draw the shapes and dtypes of the operands of a row: equal letters are equal sizes, except where one is broadcast."""
    sizes: dict[str, int] = {}
    is_indexed = "R.const([" in CALLS[name][0]
    floats = choose.pick(("float32", "float32", "float64", "float16", "float32"))
    found: Shapes = []
    for kind, axes in (key.split() for key in CALLS[name][1]):
        shape = [
            int(axis) if axis.isdigit() else _size(choose, sizes, axis, 2 if is_indexed else 1)
            for axis in axes.split(",")
        ]
        found.append((shape, floats if kind == "f" else DTYPES[kind]))
    if found and not is_indexed and choose.rarely(3):
        shape, _ = choose.pick(found)
        match choose.number(0, 3):
            case 0 if shape:
                shape[choose.number(0, len(shape) - 1)] = 1
            case 1 if shape:
                shape[choose.number(0, len(shape) - 1)] += 1
            case 2 if len(shape) > 1:
                del shape[0]
            case _:
                shape.insert(0, choose.number(1, 2))
    return found


def _size(choose: Choices, sizes: dict[str, int], axis: str, least: int) -> int:
    """Choose a size, or return the one that was chosen before; constant indices need at least `least` elements."""
    if axis not in sizes:
        sizes[axis] = 0 if least == 1 and choose.rarely(40) else choose.number(least, 5)
    return sizes[axis]


# --- Attributes -----------------------------------------------------------------------------------------------


def _change(choose: Choices, call: relax.Call, attrs: dict[str, Any], shapes: Shapes) -> None:
    """Change one attribute."""
    op = find(call.op.name) if isinstance(call.op, Op) else None
    params = (
        [
            param
            for param in op.attributes
            if param.name in attrs and param.kind != "value" and param.name not in _PROMISES
        ]
        if op
        else []
    )
    if op is None or not params:
        return
    param = choose.pick(params)
    old = attrs[param.name]
    if param.kind.startswith("opt_") and choose.rarely(4):
        attrs[param.name] = None
    elif "layout" in param.name and isinstance(old, str):
        _change_layout(choose, param, attrs, shapes)
    elif param.kind in ("str", "opt_str"):
        words = _TEXTS.get(param.name) or _words(op, param.name, _key(call))
        attrs[param.name] = choose.pick(words) if words else old
    elif param.kind == "dtype":
        attrs[param.name] = choose.pick(("void", "float32", "float64", "float16", "int32", "int64"))
    else:
        attrs[param.name] = _other(choose, param, old)


def _other(choose: Choices, param: Param, old: Any) -> Any:
    """Return another value of an attribute that is a number, a boolean or several numbers."""
    kind = param.kind.removeprefix("opt_")
    if kind == "bool":
        return not old
    if kind == "float":
        return choose.pick((0.5, 0.25, 1.0)) if param.name in _ROUNDED else choose.pick((0.5, 1.0, 2.0, -0.5, 0.0))
    if kind == "int" or (kind == "sections" and isinstance(old, int)):
        return _number(choose, old)
    numbers: list[int] = (
        list(cast("Sequence[int]", old)) if isinstance(old, tuple | list) else [] if old is None else [old]
    )
    match choose.number(0, 4):
        case 0:
            return tuple(numbers[::-1])
        case 1 if numbers:
            return tuple(numbers[1:])
        case 2:
            return (*numbers, _number(choose, 0))
        case _ if numbers:
            at = choose.number(0, len(numbers) - 1)
            return (*numbers[:at], _number(choose, numbers[at]), *numbers[at + 1 :])
        case _:
            return (_number(choose, 0),)


def _number(choose: Choices, old: Any) -> int:
    near = int(old) if isinstance(old, int) else 0
    return choose.pick((near + 1, near - 1, near + 2, 0, 1, 2, 3, -1, -2))


def _change_layout(choose: Choices, param: Param, attrs: dict[str, Any], shapes: Shapes) -> None:
    """Choose an order of dimensions, in which one may be packed, and reorder the operands that have this layout."""
    old = attrs[param.name]
    letters = "".join(char for char in old if char.isupper())
    if letters != old or len(letters) > 5:
        return  # it is packed already
    order = choose.pick([*map("".join, permutations(letters))][:24])
    block, packed = choose.pick((2, 4)), choose.pick(letters[:2])
    is_packed = choose.rarely(3)
    attrs[param.name] = f"{order}{block}{packed.lower()}" if is_packed else order
    if param.name == "out_layout":
        return
    first = 1 if param.name.startswith("kernel") else 0
    last = first + 1 if param.name != "layout" or choose.number(0, 1) else len(shapes)
    for shape, _ in shapes[first:last]:
        if len(shape) != len(letters):
            continue
        sizes = dict(zip(letters, shape, strict=True))
        if is_packed:
            sizes[packed] = max(1, sizes[packed] // block)
        shape[:] = [sizes[letter] for letter in order] + ([block] if is_packed else [])


@cache
def _words(op: RelaxOp, name: str, row: str) -> tuple[str, ...]:
    """Return the texts that an attribute may be, as the error of a wrong text names them."""
    call = _call_of(row)
    assert call is not None
    wrong = str(replace(call, attrs=NamedAttrs({**call.attrs, name: "?"}.items())))
    infos = tuple([_info([2 if not axis.isdigit() else int(axis) for axis in axes.split(",")], DTYPES[kind]) for kind, axes in (key.split() for key in CALLS[row][1])])  # fmt: skip
    try:
        result_of(wrong, infos)
    except TvmsError as problem:
        return tuple(dict.fromkeys(_WORD.findall(" ".join(found.help or "" for found in problem.diagnostics))))
    return ()


def _key(call: relax.Call) -> str:
    return _rows()[id(call)]


@cache
def _rows() -> Mapping[int, str]:
    return {id(call): name for name in CALLS if (call := _call_of(name)) is not None}


@cache
def _call_of(name: str) -> relax.Call | None:
    """Return the call of a row; None if it is not a call of one operator on the operands and constants."""
    text, operands = CALLS[name]
    infos = [
        _info([int(axis) if axis.isdigit() else 2 for axis in axes.split(",")], DTYPES[kind])
        for kind, axes in (key.split() for key in operands)
    ]
    head = ", ".join(f"x{place}: {info}" for place, info in enumerate(infos))
    body = text.format(*[f"x{place}" for place in range(len(infos))])
    function = parse(f"R.function f({head}):\n    y = {body}\n    return y\n").functions["f"]
    assert isinstance(function, relax.Function)
    calls = [node for node in walk(function.body) if isinstance(node, relax.Call)]
    if len(calls) != 1:
        return None
    return calls[0]
