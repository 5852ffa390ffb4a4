"""The texts of `R.print` and `R.assert_op`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from .. import relax


def printed(call: relax.Call, values: Sequence[Any], separator: str) -> str:
    """Return values in a format, which is an attribute of the call or the first value; without a format, separated.

    `{}` in the format denotes a value; if their numbers differ, the values follow the format.
    """
    form, given = str(call.attrs.get("format", "")), list(values)
    if not form and given and isinstance(given[0], str):
        form, *given = given
    texts = list(map(_text, given))
    parts = form.split("{}")
    if len(parts) != len(texts) + 1:
        return " ".join([form, *texts]) if form else separator.join(texts)
    return "".join(text for pair in zip(parts, [*texts, ""], strict=True) for text in pair)


def _text(value: Any) -> str:
    """Return a tuple with its fields in parentheses, and other values as NumPy and Python print them."""
    if not isinstance(value, tuple):
        return str(value)
    fields = [_text(field) for field in cast("tuple[Any, ...]", value)]
    return f"({fields[0]},)" if len(fields) == 1 else f"({', '.join(fields)})"
