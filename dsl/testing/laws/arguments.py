"""Every argument counts: two texts that differ in one argument of a form or an operator are different programs, or at least one
of them is an error.

Half of the pairs are made of a printed program: one argument of a call is changed, left out or added. The others are small
texts with a form and one of its optional arguments, with two values: any form, and any such argument.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

from hypothesis import strategies as st
from msgspec import Struct

from ....ir.base import IRModule, Source
from ....ir.diagnostics import TvmsError
from ....ir.equal import structural_equal
from ....ir.ops.registry import relax_ops
from ... import syntax
from ...builder.convert import CONVERTERS
from ...builder.forms import NAMESPACES, Form, Namespace
from ...load import parse_source
from ...parser import parse_syntax
from ..choices import Choices, drawn
from ..details import detailed
from ..modules import all_modules
from ..oracle import Execute
from .law import Law


class _Pair(Struct, frozen=True):
    """Two texts, and the argument in which they differ: `T.vectorized.step`, or `[0]` for one by position."""

    one: str
    other: str
    place: str

    def __str__(self) -> str:
        return f"{self.one}\n# --- {self.place}\n{self.other}"


IGNORED = {
    "T.reads": "regions are merged",
    "T.writes": "regions are merged",
    "T.prim_func": "options of a decorator in Python",
    "T.macro": "options of a decorator in Python",
    "T.inline": "options of a decorator in Python",
    "R.macro": "options of a decorator in Python",
    "T.handle.storage_scope": "it counts only with a dtype",
    "T.var.name": "the name that the variable is assigned to counts",
    "T.axis.remap.dtype": "an axis has the dtype of its loop",
    "T.match_buffer.dtype": "a view without a shape has the dtype of the region",
}
"""Forms, or arguments of forms, that may differ in programs that are equal, and why."""

# --- Pairs made of printed programs ---------------------------------------------------------------------------

_Edit = tuple[str, int, int, tuple[str, str]]
"""The argument that an edit concerns, the part of the text that it replaces, and the two replacements."""


def _edited(choose: Choices, text: str) -> _Pair | None:
    """Return a text and the same with another argument of a call; None if it has no call of a known form."""
    tree, _ = parse_syntax(Source("example.tvms", text))
    calls: dict[str, list[syntax.Call]] = {}
    for node in _nodes(tree):
        if isinstance(node, syntax.Call) and (name := _dotted(node.func)) and name not in IGNORED:
            calls.setdefault(name, []).append(node)
    if not calls:
        return None
    name = choose.pick(sorted(calls))
    call = choose.pick(calls[name])
    edits = [edit for edit in (*_changes(text, name, call), *_additions(text, name, call)) if edit[0] not in IGNORED]
    if not edits:
        return None
    place, start, end, (one, other) = choose.pick(edits)
    return _Pair(text[:start] + one + text[end:], text[:start] + other + text[end:], place)


def _nodes(tree: object) -> Iterator[syntax.Syntax]:
    stack = [tree]
    while stack:
        node = stack.pop()
        if isinstance(node, tuple):
            stack.extend(node)  # type: ignore[reportUnknownArgumentType]
        elif isinstance(node, syntax.Syntax):
            yield node
            stack.extend(getattr(node, name) for name in node.__struct_fields__ if name != "trivia")


def _dotted(node: syntax.Expr) -> str:
    """Return the name of a form or an operator, such as "T.axis.spatial"; an empty text for another expression."""
    if isinstance(node, syntax.Name):
        return node.id if node.id in NAMESPACES else ""
    if isinstance(node, syntax.Attribute):
        before = _dotted(node.value)
        return f"{before}.{node.attr}" if before else ""
    return ""


def _changes(text: str, name: str, call: syntax.Call) -> Iterator[_Edit]:
    """Yield the changes of constants in the arguments, and the omission of each named argument."""
    named = [(keyword.name, keyword.value) for keyword in call.keywords]
    for place, value in [(f"[{at}]", value) for at, value in enumerate(call.args)] + named:
        for node in _constants(value):
            old = text[node.start : node.end]
            new = _OTHER.get(old) or (str(int(old) + 1) if old.isdigit() else None)
            if new is not None:
                yield f"{name}.{place}".replace(".[", "["), node.start, node.end, (old, new)
    for keyword in call.keywords:
        start = text.rfind(",", call.start, keyword.start)
        start = start if start > call.func.end else keyword.start
        yield f"{name}.{keyword.name}", start, keyword.end, (text[start : keyword.end], "")


_OTHER = {
    "True": "False", "False": "True", '"float32"': '"int32"', '"int32"': '"float32"', '"shared"': '"local"', '"local"': '"shared"',
    '"global"': '"local"', '"S"': '"R"', '"R"': '"S"', '"int64"': '"int32"', '"threadIdx.x"': '"threadIdx.y"',
}  # fmt: skip


def _constants(value: syntax.Expr) -> Iterator[syntax.Constant]:
    """Yield the constants of an argument that is one, or a list of constants."""
    if isinstance(value, syntax.Constant):
        yield value
    elif isinstance(value, syntax.Tuple | syntax.List):
        for element in value.elements:
            yield from _constants(element)


def _additions(text: str, name: str, call: syntax.Call) -> Iterator[_Edit]:
    """Yield the addition of each argument that is not given, with two values."""
    given = {keyword.name for keyword in call.keywords}
    close = call.end - 1
    comma = ", " if call.args or call.keywords else ""
    for at, (parameter, values) in enumerate(parameters_of(name)):
        if parameter not in given and at >= len(call.args) and text[close] == ")":
            yield (
                f"{name}.{parameter}",
                close,
                close,
                (f"{comma}{parameter}={values[0]}", f"{comma}{parameter}={values[1]}"),
            )


# --- All forms and operators ----------------------------------------------------------------------------------

_VALUES = {
    "PrimExpr": ("8", "12"), "Any": ("2", "3"), "Argument": ("2", "3"), "Condition": ("i < 2", "i < 3"), "Flag": ("False", "True"),
    "DTypeName": ('"int8"', '"int16"'), "Integer": ("2", "4"), "Ints": ("[1]", "[2]"), "Attributes": ('{"a": 1}', '{"a": 2}'),
    "Shape": ("(4,)", "(8,)"), "Var": ("A.data", "B.data"), "Strides": ("(2,)", "(4,)"), "Domain": ("8", "(1, 8)"),
    "Exprs": ("[1]", "[2]"), "Buffer": ("A", "B"), "Region": ("A[0:4]", "A[0:2]"), "Mask": ("[True]", "[False]"),
}  # fmt: skip
_TEXTS = {
    "scope": ('"local"', '"shared"'), "storage_scope": ('"local"', '"shared"'), "thread": ('"threadIdx.x"', '"threadIdx.y"'),
    "dtype": ('"int32"', '"int64"'), "index_dtype": ('"int32"', '"int64"'), "buffer_type": ('""', '"auto"'), "type": ('"auto"', '""'), "access_mask": ('"r"', '"w"'),
}  # fmt: skip
_OF_OPERATORS = {
    "int": ("1", "2"),
    "bool": ("False", "True"),
    "float": ("0.5", "2.0"),
    "str": ('"x"', '"y"'),
    "dtype": ('"float16"', '"float64"'),
}


@cache
def parameters_of(name: str) -> tuple[tuple[str, tuple[str, str]], ...]:
    """Return the parameters of a form or an operator that may be given by name, in order, and two values of each."""
    operator = relax_ops().get(f"relax.{name.removeprefix('R.')}") if name.startswith("R.") else None
    if operator is not None:
        kinds = ((param.name, param.kind.removeprefix("opt_")) for param in operator.params)
        return tuple((param, _OF_OPERATORS.get(kind, ("[0]", "[1]"))) for param, kind in kinds)
    form: Any = NAMESPACES[name[0]]
    for part in name.split(".")[1:]:
        form = form.members.get(part) if isinstance(form, Namespace) else None
    if not isinstance(form, Form):
        return ()
    known = {id(convert): key for key, convert in CONVERTERS.items()}
    pairs: list[tuple[str, tuple[str, str]]] = []
    for parameter in form.signature.parameters:
        if parameter.kind in ("plain", "named"):
            kind = known.get(id(parameter.convert), "Any")
            if parameter.name != "dtype" or kind != "Any":  # texts of older versions repeat the dtype of the operands
                values = _TEXTS.get(parameter.name) or _VALUES.get(kind, ('"x"', '"y"'))
                pairs.append((parameter.name, values))
    return tuple(pairs)


HEAD = 'T.prim_func f(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):\n    for i in range(16):\n'
_CONTEXTS = (
    "        x = {}\n        x[0] = A[i]\n",
    '        with T.block("b"):\n            x = {}\n            x[0] = A[i]\n',
    '        with T.block("b"):\n            vi = {}\n            B[vi] = A[vi]\n',
    "        for j in {}:\n            B[j] = A[i]\n",
    "        with {}:\n            B[i] = A[i]\n",
    "        B[i] = {}\n",
    "        x = {}\n        T.evaluate(x)\n",
    '        with T.block("b"):\n            {}\n            B[i] = A[i]\n',
    "        {}\n",
)
"""Uses of a form: as a buffer, an axis, a loop, a context, a value, a declaration in a block, or a statement."""


@cache
def _forms() -> tuple[tuple[str, str], ...]:
    """Return every argument that may be left out, with the form of the loop level that it belongs to."""
    found: list[tuple[str, str]] = []
    waiting: list[Namespace] = [NAMESPACES["T"]]
    while waiting:
        for member in waiting.pop().members.values():
            if isinstance(member, Namespace):
                waiting.append(member)
            elif isinstance(member, Form):
                optional = [parameter.name for parameter in member.signature.parameters if not parameter.required]
                found += [(member.name, name) for name, _ in parameters_of(member.name) if name in optional]
    return tuple(sorted(set(found)))


@cache
def _context_of(name: str, parameter: str) -> str | None:
    """Return a text with a use of a form that may have an argument, as `{}`; None if no use is known."""
    for context in _CONTEXTS:
        try:
            for value in dict(parameters_of(name))[parameter]:
                parse_source(Source("example.tvms", HEAD + context.format(_use(name, parameter, value))))
        except TvmsError:
            continue
        return HEAD + context
    return None


def _use(name: str, parameter: str, value: str) -> str:
    form: Any = NAMESPACES["T"]
    for part in name.split(".")[1:]:
        form = form.members[part]
    values = dict(parameters_of(name))
    required = [
        _OF_FORMS.get(f"{name}.{needed.name}") or values[needed.name][0]
        for needed in form.signature.positional
        if needed.required
    ]
    return f"{name}({', '.join([*required, f'{parameter}={value}'])})"


_OF_FORMS = {
    "T.match_buffer.param": "A[0:4]",
    "T.match_buffer.shape": "(4,)",
    "T.axis.remap.kinds": '"S"',
    "T.axis.remap.bindings": "[i]",
    "T.Call.dtype": '"int32"',
}
"""Arguments of forms that accept few values."""


def _small(choose: Choices) -> _Pair | None:
    name, parameter = choose.pick(_forms())
    context = _context_of(name, parameter)
    if context is None or name in IGNORED or f"{name}.{parameter}" in IGNORED:
        return None
    one, other = (context.format(_use(name, parameter, value)) for value in dict(parameters_of(name))[parameter])
    return _Pair(one, other, f"{name}.{parameter}")


# --- The law --------------------------------------------------------------------------------------------------


def _examples(file: Source | None) -> st.SearchStrategy[_Pair]:
    def pair(choose: Choices) -> _Pair:
        if file is None and choose.number(0, 1):
            found = _small(choose)
        else:
            text = file.text if file is not None else detailed(choose, choose.draw(all_modules())).script() + "\n"
            found = _edited(choose, text)
        return found or _Pair("", "", "")

    return drawn(pair)


def _check(pair: _Pair, execute: Execute) -> None:
    one, other = _parsed(pair.one), _parsed(pair.other)
    if pair.place and one is not None and other is not None:
        is_same = structural_equal(one, other, map_free_vars=True) and one.script() == other.script()
        assert not is_same, f"{pair.place} does not count: both texts are the same program"


def _parsed(text: str) -> IRModule | None:
    try:
        return parse_source(Source("example.tvms", text))
    except TvmsError:
        return None


def _constructs(pair: _Pair) -> Iterable[str]:
    place = pair.place.partition("[")[0]
    return (place, place.rpartition(".")[0])


def _read(source: Source) -> _Pair:
    one, _, rest = source.text.partition("\n# --- ")
    place, _, other = rest.partition("\n")
    return _Pair(one, other, place)


LAW = Law(
    _examples,
    _check,
    read=_read,
    constructs=_constructs,
    expected=frozenset({"T.Buffer", "T.block", "T.vectorized.step"}),
)
