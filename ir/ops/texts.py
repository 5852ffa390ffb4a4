"""Operators on tensors of texts: NumPy arrays of `str`, of struct info `R.Object`, on the host."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from ..base import StructInfo
from ..diagnostics import error
from ..relax import TupleStructInfo
from .inference import Inference, any_object, tensor_info
from .registry import Param, RelaxOp, register


def _object_array(np: Any, values: list[Any], shape: tuple[int, ...]) -> Any:
    made = np.empty(len(values), object)
    made[:] = values
    return made.reshape(shape)


def _tensor(np: Any, a: Any) -> Any:
    return _object_array(np, list(a.texts), tuple(int(size) for size in a.shape))


def _joined(x: Any, y: Any) -> str:
    return str(x) + str(y)


def _concat(np: Any, a: Any) -> Any:
    return np.asarray(np.frompyfunc(_joined, 2, 1)(a.x, a.y), object)


def _split(np: Any, a: Any) -> Any:
    """Return the parts of each text, filled up with empty ones, and their numbers."""
    most = -1 if int(a.maxsplit) < 0 else int(a.maxsplit)
    parts = [str(text).split(str(a.delimiter) or None, most) if str(text) else [] for text in a.x.reshape(-1)]
    width = max(map(len, parts), default=0)
    filled = [part for row in parts for part in (*row, *[""] * (width - len(row)))]
    counts = np.array([len(row) for row in parts], "int64").reshape(a.x.shape)
    return _object_array(np, filled, (*a.x.shape, width)), counts


def _normalize(np: Any, a: Any) -> Any:
    """Drop stop words of a vector, or of the only row of a matrix, and change the case of the others."""
    change: dict[str, Callable[[str], str]] = {"LOWER": str.lower, "UPPER": str.upper}
    stop = {str(word) if bool(a.is_case_sensitive) else str(word).lower() for word in a.stopwords}
    words = [str(word) for word in a.x.reshape(-1)]
    kept = [word for word in words if (word if bool(a.is_case_sensitive) else word.lower()) not in stop] or [""]
    made = [change.get(str(a.case), str)(word) for word in kept]
    return _object_array(np, made, (len(made),) if a.x.ndim == 1 else (1, len(made)))


def _equal(np: Any, a: Any) -> Any:
    return np.asarray(np.equal(a.x, a.y), bool)


def _full_match(np: Any, a: Any) -> Any:
    pattern = re.compile(str(a.pattern))
    return np.array([pattern.fullmatch(str(text)) is not None for text in a.x.reshape(-1)], bool).reshape(a.x.shape)


def _find(np: Any, a: Any) -> Any:
    places: dict[str, int] = {}
    for number in range(len(a.keys)):
        places.setdefault(str(a.keys[number]), number)
    found = [places.get(str(text), len(a.keys)) for text in a.x.reshape(-1)]
    return np.array(found, "int64").reshape(a.x.shape)


def _take(np: Any, a: Any) -> Any:
    words = [str(word) for word in a.texts]
    indices = np.asarray(a.indices)
    if indices.size and not -len(words) <= int(indices.min()) <= int(indices.max()) < len(words):
        raise error("E0707", f"an index is outside of {len(words)} texts")
    return _object_array(np, [words[index] for index in indices.reshape(-1)], indices.shape)


def _ngram_counts(np: Any, a: Any) -> Any:
    """Count the sequences of `pool` in rows; the parts of one with n elements are 1 to `skips` + 1 elements apart."""
    x = np.asarray(a.x)
    is_text = isinstance(a.pool, tuple | list)
    pool: list[Any] = list(map(str, a.pool)) if is_text else np.asarray(a.pool).tolist()  # type: ignore[reportUnknownArgumentType]
    columns: dict[tuple[Any, ...], list[int]] = {}
    start = 0
    for length, column in zip(np.asarray(a.lengths).tolist(), np.asarray(a.columns).tolist(), strict=True):
        columns.setdefault(tuple(pool[start : start + length]), []).append(column)
        start += length
    rows = x.reshape(1, -1) if x.ndim < 2 else x
    counts = np.zeros((len(rows), int(a.width)), "float32")
    lengths = sorted({len(key) for key in columns})
    for number, row in enumerate(rows.tolist()):
        for length in lengths:
            for step in range(1, int(a.skips) + 2 if length > 1 else 2):
                for first in range(len(row) - (length - 1) * step):
                    for column in columns.get(tuple(row[first : first + (length - 1) * step + 1 : step]), ()):
                        counts[number, column] += 1
    return counts if x.ndim > 1 else counts[0]


def _infer_ngram_counts(a: Inference) -> StructInfo:
    return tensor_info(None, "float32")


def _infer_places(a: Inference) -> StructInfo:
    return tensor_info(None, "int64")


def _infer_split(a: Inference) -> StructInfo:
    return TupleStructInfo((any_object(a), tensor_info(None, "int64")))


def _infer_equal(a: Inference) -> StructInfo:
    return tensor_info(None, "bool")


def _register(name: str, doc: str, oracle: Callable[[Any, Any], Any], infer: Any, *params: Param) -> None:
    register(RelaxOp(f"relax.{name}", params, infer, doc, oracle, at_run_time=True))


_register(
    "text_tensor", "Return the tensor of `shape` with the given texts.", _tensor, any_object, Param("texts", "tuple"), Param("shape", "shape")
)  # fmt: skip
_register("text_concat", "Return the texts of `x` followed by those of `y`, which broadcast.", _concat, any_object, Param("x"), Param("y"))  # fmt: skip
_register("text_equal", "Return whether texts are equal; `x` and `y` broadcast.", _equal, _infer_equal, Param("x"), Param("y"))  # fmt: skip
_register(
    "text_split",
    "Return the parts of texts between delimiters, or between white space if `delimiter` is empty, and their numbers.",
    _split,
    _infer_split,
    Param("x"),
    Param("delimiter", "string"),
    Param("maxsplit", "prim", -1),
)
_register(
    "text_normalize",
    'Return the texts without stop words; `case` "LOWER" or "UPPER" changes their letters.',
    _normalize,
    any_object,
    Param("x"),
    Param("stopwords", "tuple"),
    Param("case", "string"),
    Param("is_case_sensitive", "prim", False),
)
_register(
    "text_full_match",
    "Return whether whole texts match a regular expression of Python's `re`.",
    _full_match,
    _infer_equal,
    Param("x"),
    Param("pattern", "string"),
)
_register(
    "text_find",
    "Return the position of each text in `keys`; their number if it is absent.",
    _find,
    _infer_places,
    Param("x"),
    Param("keys", "tuple"),
)
_register("text_take", "Return the texts at `indices`.", _take, any_object, Param("texts", "tuple"), Param("indices"))
_register(
    "ngram_counts",
    "Count the n-grams of `pool` in each row of `x`. `pool` holds them consecutively, and `lengths` their numbers of elements. "
    "The elements of an occurrence are at most `skips` elements apart. `columns` gives the column of each n-gram, of `width` columns.",
    _ngram_counts,
    _infer_ngram_counts,
    Param("x"),
    Param("pool"),
    Param("lengths"),
    Param("columns"),
    Param("width", "prim"),
    Param("skips", "prim"),
)
