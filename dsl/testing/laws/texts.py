"""Operators on texts and sequences have their defining properties, in the interpreter and in compiled modules.

Every executor computes these operators by the same functions, on the host, so that comparing executors shows nothing. Here each
result is checked against a property of Python's own texts and lists: parts join to the text again, what is inserted is found
at its place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from hypothesis import strategies as st

from ....ir import relax
from ....ir.base import IRModule, Op, Source
from ....ir.programs import as_module
from ....ir.relax import Call, Constant, PrimValue, StringImm, Tuple, Var
from ...load import parse, parse_source
from ..choices import Choices, drawn
from ..oracle import Execute, interpreted
from .law import Law, module_constructs

_WORDS = ("a", "", "b a", "a,b,,a", " a  b ", "Ab", "c", ",", "a b c a b", "B")
_PATTERNS: Mapping[str, Callable[[str], bool]] = {
    "[ab ]*": lambda text: set(text) <= set("ab "),
    "a.*": lambda text: text.startswith("a"),
    "c|B": lambda text: text in ("c", "B"),
}
"""Regular expressions, and what they match."""


def _module(choose: Choices) -> IRModule:
    """Return a module whose function `main` binds the results of operators, and returns them all."""
    lines = [*_texts(choose), *_sequences(choose)]
    names = ", ".join(line.partition(" = ")[0] for line in lines)
    return as_module(parse("\n    ".join(["R.function main() -> R.Object:", *lines, f"return ({names})"])))


def _strings(texts: list[str]) -> str:
    return "(" + "".join(f'R.str("{text}"), ' for text in texts) + ")"


def _texts(choose: Choices) -> list[str]:
    rows, columns = choose.number(1, 3), choose.number(1, 2)
    shape = choose.pick((f"[{rows}]", f"[{rows}, {columns}]"))
    count = rows * columns if "," in shape else rows
    x, y, keys = ([choose.pick(_WORDS) for _ in range(size)] for size in (count, count, choose.number(1, 3)))
    lines = [f"{name} = R.text_tensor({_strings(words)}, R.shape({shape}))" for name, words in (("x", x), ("y", y))]
    lines += ["joined = R.text_concat(x, y)", "same = R.text_equal(x, y)"]
    for number in range(2):
        limit, delimiter = choose.pick((-1, 0, 1, 2, -3)), choose.pick((",", " ", "", "a", "ab"))
        source = choose.pick(("x", "joined"))
        lines.append(f'parts{number} = R.text_split({source}, R.str("{delimiter}"), R.prim_value({limit}))')
    lines.append(f'matches = R.text_full_match(x, R.str("{choose.pick(list(_PATTERNS))}"))')
    lines += [f"places = R.text_find(x, {_strings(keys)})", f"found = R.text_take({_strings([*keys, '?'])}, places)"]
    if "," not in shape or rows == 1:
        case, is_exact = choose.pick(("NONE", "LOWER", "UPPER")), choose.pick(("True", "False"))
        lines.append(f'kept = R.text_normalize(x, {_strings(keys)}, R.str("{case}"), R.prim_value({is_exact}))')
    return lines


def _sequences(choose: Choices) -> list[str]:
    sizes, axis = [choose.number(0, 3) for _ in range(choose.number(1, 3))], choose.number(0, 1)
    total = sum(sizes)
    shape = (total, 2) if axis == 0 else (2, total)
    tensor = [[row * shape[1] + column + 0.5 for column in range(shape[1])] for row in range(shape[0])]
    count = len(sizes)
    place, gone = choose.number(-count, count), choose.number(-count - 1, count)
    whole = choose.number(1, 3)
    source = f'R.const({tensor}, "float32")' if total and tensor else f'R.zeros({shape}, "float32")'
    return [
        f"tensor = {source}",
        f'sequence = R.sequence_split(tensor, R.const({sizes}, "int64"), R.prim_value({axis}))',
        f"again = R.sequence_concat(sequence, R.prim_value({axis}), R.prim_value(False))",
        f'equal = R.sequence_split(tensor, R.const({whole}, "int64"), R.prim_value({axis}))',
        f'longer = R.sequence_insert(sequence, tensor, R.const({place}, "int64"))',
        f'shorter = R.sequence_erase(longer, R.const({gone}, "int64"))',
        f'item = R.sequence_at(longer, R.const({gone}, "int64"))',
        "length = R.sequence_length(longer)",
        f"stacked = R.sequence_concat((tensor, tensor), R.prim_value({choose.number(-1, 2)}), R.prim_value(True))",
    ]


# --- Properties ---------------------------------------------------------------------------------------------------


def _is_split(text: str, delimiter: str, limit: int, parts: list[str]) -> bool:
    """Return whether `parts` are those of a text. Parts between white space lose it; an empty text has none."""
    if not text:
        return not parts
    if limit >= 0 and len(parts) > limit + 1:
        return False
    *first, last = parts or [""]
    is_limited = limit >= 0 and len(parts) == limit + 1
    if delimiter:
        is_whole = delimiter.join(parts) == text and not any(delimiter in part for part in first)
        return is_whole and (delimiter not in last or is_limited)
    is_whole = "".join("".join(parts).split()) == "".join(text.split())
    return (
        is_whole and all(part and part == "".join(part.split()) for part in first) and (" " not in last or is_limited)
    )


def _split(result: Any, x: Any, delimiter: str, limit: int) -> bool:
    parts, counts = result
    rows = zip(x.reshape(-1), parts.reshape(counts.size, -1).tolist(), counts.reshape(-1).tolist(), strict=True)
    return counts.shape == x.shape and all(
        _is_split(text, delimiter, limit, row[:count]) and not any(row[count:]) for text, row, count in rows
    )


def _kept(result: Any, x: Any, stop: tuple[str, ...], case: str, is_exact: int) -> bool:
    def same(text: str) -> str:
        return text if is_exact else text.lower()

    words = [word for word in x.reshape(-1) if same(word) not in map(same, stop)] or [""]
    change = {"LOWER": str.lower, "UPPER": str.upper}.get(case, str)
    return result.reshape(-1).tolist() == list(map(change, words))


def _flat(array: Any) -> list[Any]:
    return array.reshape(-1).tolist()


def _tensor(result: Any, texts: Any, shape: Any) -> bool:
    return _flat(result) == list(texts) and result.shape == shape


def _joined(result: Any, x: Any, y: Any) -> bool:
    return result.shape == x.shape and _flat(result) == [a + b for a, b in zip(_flat(x), _flat(y), strict=True)]


def _compared(result: Any, x: Any, y: Any) -> bool:
    return result.shape == x.shape and _flat(result) == [a == b for a, b in zip(_flat(x), _flat(y), strict=True)]


def _matched(result: Any, x: Any, pattern: str) -> bool:
    return result.shape == x.shape and _flat(result) == [_PATTERNS[pattern](text) for text in _flat(x)]


def _found(result: Any, x: Any, keys: Any) -> bool:
    return result.shape == x.shape and _flat(result) == [[*keys, text].index(text) for text in _flat(x)]


def _taken(result: Any, texts: Any, places: Any) -> bool:
    return result.shape == places.shape and _flat(result) == [texts[place] for place in _flat(places)]


def _item(result: Any, sequence: Any, place: Any) -> bool:
    return _equal([result], [sequence[int(place)]])


def _counted(result: Any, sequence: Any) -> bool:
    return int(result) == len(sequence)


def _equal(a: Any, b: Any) -> bool:
    import numpy as np

    return len(a) == len(b) and all(map(np.array_equal, a, b))


def _inserted(result: Any, sequence: Any, value: Any, place: Any) -> bool:
    expected = list(sequence)
    expected.insert(int(place), value)
    return _equal(result, expected)


def _erased(result: Any, sequence: Any, place: Any) -> bool:
    expected = list(sequence)
    del expected[int(place)]
    return _equal(result, expected)


def _concatenated(result: Any, sequence: Any, axis: int, is_new: int) -> bool:
    """Whether the parts are at their places along the axis."""
    import numpy as np

    start = 0
    for part in sequence:
        size = 1 if is_new else part.shape[axis]
        found = np.take(result, range(start, start + size), axis)
        if not np.array_equal(found, np.expand_dims(part, axis) if is_new else part):
            return False
        start += size
    return result.shape[axis] == start


def _divided(result: Any, x: Any, sizes: Any, axis: int) -> bool:
    found = [part.shape[axis] for part in result]
    is_sized = (
        found == sizes.tolist() if sizes.ndim else all(n == int(sizes) for n in found[:-1]) and found[-1] <= int(sizes)
    )
    return is_sized and _concatenated(x, result, axis, 0)


_PROPERTIES: Mapping[str, Callable[..., bool]] = {
    "text_tensor": _tensor, "text_concat": _joined, "text_equal": _compared, "text_split": _split,
    "text_full_match": _matched, "text_find": _found, "text_take": _taken, "text_normalize": _kept,
    "sequence_split": _divided, "sequence_concat": _concatenated, "sequence_insert": _inserted, "sequence_erase": _erased,
    "sequence_at": _item, "sequence_length": _counted,
}  # fmt: skip


def _value(expr: Any, known: Mapping[Var, Any]) -> Any:
    match expr:
        case Var():
            return known[expr]
        case Tuple(fields=fields):
            return tuple([_value(field, known) for field in fields])
        case relax.ShapeExpr(values=values):
            return tuple([size.value for size in values])  # type: ignore[attr-defined]
        case Constant(data=data):
            return data.numpy() if hasattr(data, "numpy") else data
        case PrimValue(value=value):
            return value.value  # type: ignore[attr-defined]
        case StringImm(value=value):
            return value
        case _:
            return getattr(expr, "value", expr)


def _check(module: IRModule, execute: Execute) -> None:
    function = module.functions["main"]
    assert isinstance(function, relax.Function)
    assert isinstance(function.body, relax.SeqExpr)
    bindings = [binding for block in function.body.blocks for binding in block.bindings]
    compiled: Any = execute(module, "main")
    for call in (interpreted(module, "main"), compiled):
        results, known = call(), dict[Var, Any]()
        for binding, result in zip(bindings, results, strict=False):
            known[binding.var] = result
            value = binding.value  # type: ignore[attr-defined]
            if isinstance(value, Call) and isinstance(value.op, Op):
                holds = _PROPERTIES.get(value.op.name.removeprefix("relax."))
                arguments = [_value(argument, known) for argument in value.args]
                assert holds is None or holds(result, *arguments), f"{value} is {result!r}"


def _examples(file: Source | None) -> st.SearchStrategy[IRModule]:
    return drawn(_module)


LAW = Law(
    _examples, _check, constructs=module_constructs, reads_files=False, read=lambda source: as_module(parse_source(source)),
    expected=frozenset(f"op:relax.{name}" for name in _PROPERTIES),
)  # fmt: skip
