"""Dtypes as TVM's strings: kind and bits, then `x` and the lanes ("int32", "float16x8", "float32xvscalex4")."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

from msgspec import Struct

Code = Literal["int", "uint", "float", "bfloat", "handle", "void", "bool", "custom"]

_FLOAT8 = {
    "e3m4", "e4m3", "e4m3b11fnuz", "e4m3fn", "e4m3fnuz", "e5m2", "e5m2fnuz", "e8m0fnu",
}  # fmt: skip
_SMALL_FLOATS = {f"float8_{kind}": 8 for kind in _FLOAT8} | {
    "float6_e2m3fn": 6, "float6_e3m2fn": 6, "float4_e2m1fn": 4,
}  # fmt: skip
PATTERN = re.compile(
    r"(?P<base>bool|handle|void|float8_\w+?|float6_\w+?|float4_\w+?|bfloat16|(?P<code>u?int|float)(?P<bits>\d+))"
    r"(?P<vscale>xvscale)?(?:x(?P<lanes>\d+))?$"
)


MAX_LANES = 65535
"""Maximum number of lanes of a vector (DLPack: `DLDataType.lanes`)."""


class DType(Struct, frozen=True):
    """A parsed dtype. `name` is the scalar dtype; `bits` counts one lane."""

    name: str
    code: Code
    bits: int
    lanes: int = 1
    scalable: bool = False

    @property
    def is_vector(self) -> bool:
        """Whether it has several lanes, or a number of lanes that depends on the machine."""
        return self.lanes > 1 or self.scalable

    @property
    def bytes(self) -> int:
        """Size of one lane in memory, in bytes."""
        return (self.bits + 7) // 8


@lru_cache(maxsize=1024)
def parse_dtype(dtype: str) -> DType:
    """Parse `dtype`; ValueError if it is not a dtype."""
    match = PATTERN.match(dtype)
    if match is None:
        raise ValueError(f"'{dtype}' is not a dtype")
    base = match["base"]
    lanes = int(match["lanes"] or 1) if len(match["lanes"] or "") <= 5 else 0
    if not 1 <= lanes <= MAX_LANES:
        raise ValueError(f"'{dtype}' is not a dtype: a vector has 1 to {MAX_LANES} lanes")
    scalable = match["vscale"] is not None
    if base in _SMALL_FLOATS:
        return DType(base, "float", _SMALL_FLOATS[base], lanes, scalable)
    fixed: dict[str, tuple[Code, int]] = {
        "bool": ("bool", 1), "handle": ("handle", 64), "void": ("void", 0), "bfloat16": ("bfloat", 16),
    }  # fmt: skip
    if base in fixed:
        code, bits = fixed[base]
        return DType(base, code, bits, lanes, scalable)
    code, bits = match["code"], int(match["bits"] or 0)
    valid = bits in (16, 32, 64) if code == "float" else bits in (1, 2, 4, 8, 16, 32, 64, 128)
    if not valid:
        raise ValueError(f"'{dtype}' is not a dtype")
    return DType(base, code, bits, lanes, scalable)  # type: ignore[arg-type]


OLDER_DTYPES = {"e4m3_float8": "float8_e4m3fn", "e5m2_float8": "float8_e5m2"}
"""Names of dtypes in TVM before 0.20, and today."""


DEFAULT_WIDTHS = {"int": "int32", "uint": "uint32", "float": "float32"}
"""Dtypes that Python programs may write without their width (TVM: `DataType("int")`)."""


def current_dtype(name: str) -> str:
    """Return the name of a dtype today, as `float8_e4m3fnx4` for `e4m3_float8x4`."""
    scalar, x, lanes = name.partition("8x")
    older = f"{scalar}8" if x else name
    return OLDER_DTYPES[older] + (f"x{lanes}" if x else "") if older in OLDER_DTYPES else name


def is_dtype(text: str) -> bool:
    """Whether `text` names a dtype."""
    try:
        parse_dtype(text)
    except ValueError:
        return False
    return True


def is_float(dtype: str) -> bool:
    """Whether `dtype` is a floating-point dtype of any lanes, bfloat16 and the 8-bit ones included."""
    return parse_dtype(dtype).code in ("float", "bfloat")


def is_int(dtype: str) -> bool:
    """Whether `dtype` is a signed or unsigned integer (not bool) of any lanes."""
    return parse_dtype(dtype).code in ("int", "uint")


def sum_dtype(dtype: str) -> str:
    """Return the dtype in which elements of `dtype` are summed for their mean: for integers, one that holds the sum."""
    return dtype if is_float(dtype) else "uint64" if dtype.startswith("uint") else "int64"


def is_bool(dtype: str) -> bool:
    """Whether `dtype` is bool, of any lanes."""
    return parse_dtype(dtype).code == "bool"


_TYPE_CODES: dict[str, int] = {"int": 0, "uint": 1, "float": 2, "handle": 3, "void": 3, "bfloat": 4, "bool": 6} | {
    name: code
    for code, name in enumerate(
        (
            "float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz",
            "float8_e8m0fnu", "float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fn",
        ),
        start=7,
    )
}  # fmt: skip
"""DLPack's type codes (`DLDataTypeCode`) by kind, or by dtype for floats of at most 8 bits."""


def type_code(dtype: str) -> int:
    """Return DLPack's type code of `dtype`."""
    parsed = parse_dtype(dtype)
    return _TYPE_CODES.get(parsed.name, _TYPE_CODES.get(parsed.code, 5))


def lanes_of(dtype: str) -> int:
    """Return the number of lanes of `dtype`."""
    return parse_dtype(dtype).lanes


def is_vector(dtype: str) -> bool:
    """Whether `dtype` is a vector, of fixed or scalable length."""
    return parse_dtype(dtype).is_vector


def same_lanes(a: str, b: str) -> bool:
    """Whether `a` and `b` are vectors of the same length, or both scalars."""
    left, right = parse_dtype(a), parse_dtype(b)
    return (left.lanes, left.scalable) == (right.lanes, right.scalable)


def is_index(dtype: str) -> bool:
    """Return whether expressions of `dtype` are assumed not to overflow."""
    return dtype in ("int32", "int64")


def element_bytes(dtype: str) -> int:
    """Return the size of an element of `dtype`, with all its lanes, in bytes."""
    parsed = parse_dtype(dtype)
    return parsed.bytes * parsed.lanes


def with_lanes(dtype: str, lanes: int) -> str:
    """Return `dtype` with `lanes` lanes, a fixed number."""
    name = parse_dtype(dtype).name
    return name if lanes == 1 else f"{name}x{lanes}"


def with_lanes_of(dtype: str, other: str) -> str:
    """Return `dtype` with the lanes of `other`: "boolxvscalex4" for "bool" and "int32xvscalex4"."""
    return parse_dtype(dtype).name + other[len(parse_dtype(other).name) :]


def int_range(dtype: str) -> tuple[int, int]:
    """Return the minimum and the maximum of an integer dtype or bool."""
    parsed = parse_dtype(dtype)
    if parsed.code == "int":
        return -(1 << (parsed.bits - 1)), (1 << (parsed.bits - 1)) - 1
    return 0, (1 << parsed.bits) - 1
