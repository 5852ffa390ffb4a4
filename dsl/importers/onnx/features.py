"""Rows for features of classical machine learning: scaling, selection, and codes of categories."""

from __future__ import annotations

from typing import Any

from ....ir import relax
from ....ir.api.relax import op
from ....ir.building.values import apply, const
from ....ir.diagnostics import error
from ....ir.ops import dims as d
from ..values import dims_of, dtype_of, is_floating, rank_of
from .converter import Converter
from .kinds import TensorKind
from .rows import LEARNING, Family
from .texts import text_kind, words_of

ROWS = Family()


@ROWS.row("ArrayFeatureExtractor", domain=LEARNING)
def _extract(c: Converter, a: Any) -> relax.Expr:
    """Select elements along the last axis; a vector becomes a matrix of one row."""
    x = a.X if rank_of(a.X) > 1 else op.reshape(a.X, c.shape((1, -1)))
    return op.take(x, op.reshape(a.Y, c.shape((-1,))), rank_of(x) - 1)


@ROWS.row("Binarizer", domain=LEARNING)
def _binarize(c: Converter, a: Any) -> relax.Expr:
    return op.astype(op.greater(a.X, const(a.threshold, dtype_of(a.X))), dtype_of(a.X))


@ROWS.row("Scaler", domain=LEARNING)
def _scale(c: Converter, a: Any) -> relax.Expr:
    offset, scale = (const(values, "float32") for values in (a.offset or [0.0], a.scale or [1.0]))
    return op.multiply(op.subtract(c.cast(a.X, "float32"), offset), scale)


@ROWS.row("Normalizer", domain=LEARNING)
def _normalize(c: Converter, a: Any) -> relax.Expr:
    """Divide each row by its norm; rows of zeros stay."""
    x = c.cast(a.X, "float32")
    axis = [rank_of(x) - 1]
    norms = {
        "MAX": lambda: op.max(op.abs(x), axis, True),
        "L1": lambda: op.sum(op.abs(x), axis, True),
        "L2": lambda: op.sqrt(op.sum(op.square(x), axis, True)),
    }
    norm = c.emit(norms[a.norm](), "_norm")
    return op.divide(x, op.where(op.equal(norm, const(0.0, "float32")), const(1.0, "float32"), norm))


@ROWS.row("Imputer", domain=LEARNING)
def _impute(c: Converter, a: Any) -> relax.Expr:
    """Replace one value, of floats often NaN, by that of its column or of all columns."""
    dtype = dtype_of(a.X)
    is_float = is_floating(dtype)
    values = a.imputed_value_floats if is_float else a.imputed_value_int64s
    old = a.replaced_value_float if is_float else a.replaced_value_int64
    if not values:
        raise ValueError("it has no values to impute")
    is_old = op.isnan(a.X) if old != old else op.equal(a.X, const(old, dtype))
    return op.where(is_old, const(values if len(values) > 1 else values[0], dtype), a.X)


@ROWS.row("FeatureVectorizer", domain=LEARNING)
def _vectorize(c: Converter, a: Any) -> relax.Expr:
    """Concatenate rows of the given widths, which are cropped or padded by zeros."""
    widths: list[int] = a.inputdimensions or []
    if len(widths) != len(c.inputs):
        raise ValueError(f"it has {len(widths)} inputdimensions for {len(c.inputs)} inputs")
    parts: list[relax.Expr] = []
    for x, width in zip(c.inputs, widths, strict=True):
        assert x is not None
        rows = x if rank_of(x) == 2 else op.reshape(x, c.shape((1, -1)))
        found = d.value_of(dims_of(rows)[1])
        if found is None or width > found:
            raise c.unsupported(f"it takes {width} columns of a tensor without as many", "give it as many")
        parts.append(c.cast(op.strided_slice(rows, [1], [0], [width]), "float32"))
    return op.concat(parts, 1)


# --- Categories -----------------------------------------------------------------------------------------------


def _place(c: Converter, x: relax.Expr, keys: Any) -> relax.Expr:
    """Return the position of each element in `keys`, an array of distinct numbers or of texts; their number if it is absent."""
    import numpy as np

    if keys.dtype == object:
        sizes = text_kind(c, x).sizes
        return c.declared(apply("text_find", x, words_of(list(keys))), TensorKind("int64", sizes))
    if not isinstance(c.kind(x), TensorKind) or getattr(c.kind(x), "dtype", "") == "string":
        raise error("E1006", "its input has texts, but its keys are numbers")
    order = np.argsort(keys, kind="stable")
    count, dtype = const(len(keys), "int64"), dtype_of(x)
    if not len(keys):
        return op.full_like(x, count, "int64")
    ordered = const(keys[order].astype(keys.dtype), dtype)
    found = op.minimum(c.cast(op.bucketize(x, ordered), "int64"), const(len(keys) - 1, "int64"))
    found = c.emit(found, "_found")
    is_key = op.equal(op.take(ordered, found, 0), x)
    place = op.where(is_key, op.take(const(order.astype("int64")), found, 0), count)
    if keys.dtype.kind != "f" or not np.isnan(keys).any():
        return place
    return op.where(op.isnan(x), const(int(np.isnan(keys).argmax()), "int64"), place)


def _values(a: Any, prefix: str) -> Any:
    """Return the attribute of keys or values that is given, as an array; of texts, of dtype object."""
    import numpy as np

    tensor = getattr(a, f"{prefix}_tensor", None)
    if tensor is not None:
        return (tensor.data if isinstance(tensor, relax.Constant) else tensor).reshape(-1)
    for name, dtype in (("strings", object), ("int64s", "int64"), ("floats", "float32")):
        given = getattr(a, f"{prefix}_{name}", None)
        if given:
            return np.array(given, dtype)
    raise ValueError(f"it has no {prefix}")


@ROWS.row("LabelEncoder", domain=LEARNING, since=2, takes_objects=True)
def _encode(c: Converter, a: Any) -> relax.Expr:
    """Map keys to values; the first of equal keys counts."""
    import numpy as np

    keys, values = _values(a, "keys"), _values(a, "values")
    if len(keys) != len(values):
        raise ValueError(f"it has {len(keys)} keys, but {len(values)} values")
    _, first = np.unique(keys.astype(str) if keys.dtype == object else keys, return_index=True)
    kept = np.sort(first)
    default = _default(a, values)
    return _mapped(c, a.X, keys[kept], np.append(values[kept], np.array([default], values.dtype)))


def _mapped(c: Converter, x: relax.Expr, keys: Any, values: Any) -> relax.Expr:
    """Return the value of each key; the last value is that of other elements."""
    place = _place(c, x, keys)
    return label(c, place, values)


def label(c: Converter, place: relax.Expr, labels: Any) -> relax.Expr:
    """Return the label at each position: a tensor of numbers or of texts."""
    if labels.dtype != object:
        return op.take(const(labels), place, 0)
    known = c.emit(place, "_places")
    sizes = tuple(map(d.value_of, dims_of(known)))
    return c.with_kind(apply("text_take", words_of(list(labels)), known), TensorKind("string", sizes))


def _default(a: Any, values: Any) -> Any:
    tensor = getattr(a, "default_tensor", None)
    if tensor is not None:
        return (tensor.data if isinstance(tensor, relax.Constant) else tensor).reshape(-1)[0]
    names = {"O": "default_string", "i": "default_int64"}
    return getattr(a, names.get(values.dtype.kind, "default_float"))


@ROWS.row("LabelEncoder", "CategoryMapper", domain=LEARNING, takes_objects=True)
def _map_categories(c: Converter, a: Any) -> relax.Expr:
    """Map texts to numbers, or numbers to texts."""
    import numpy as np

    texts: list[str] = getattr(a, "classes_strings", None) or a.cats_strings or []
    numbers = getattr(a, "cats_int64s", None)
    words = np.array(texts, object)
    codes = np.arange(len(words)) if numbers is None else np.array(numbers, "int64")
    if len(words) != len(codes):
        raise ValueError(f"it has {len(words)} texts, but {len(codes)} numbers")
    kind = c.kind(a.X)
    if isinstance(kind, TensorKind) and kind.dtype == "string":
        return _mapped(c, a.X, words, np.append(codes, a.default_int64))
    return _mapped(c, a.X, codes, np.append(words, a.default_string))


@ROWS.row("OneHotEncoder", domain=LEARNING, takes_objects=True)
def _one_hot(c: Converter, a: Any) -> relax.Expr:
    """Return 1 in the column of each category; other elements have only zeros, also if `zeros` is not set."""
    import numpy as np

    keys = np.array(a.cats_strings, object) if a.cats_strings else np.array(a.cats_int64s or [], "int64")
    kind = c.kind(a.X)
    x = c.cast(a.X, "int64") if isinstance(kind, TensorKind) and kind.dtype != "string" else a.X
    place = op.expand_dims(_place(c, x, keys), [-1])
    return op.astype(op.equal(place, const(np.arange(len(keys)))), "float32")
