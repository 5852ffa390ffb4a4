"""Casts between all pairs of dtypes compute what onnx's reference evaluator computes, bit for bit.

Values are all bit patterns of dtypes of at most 8 bits, random bit patterns of others, and numbers around the limits and the ties of
rounding. The standard does not say what floats become integers whose range they exceed; the law leaves them out.
"""

from __future__ import annotations

import os
from typing import Any

import ml_dtypes
import numpy as np
import pytest

pytest.importorskip("onnx", reason="onnx, the extra 'onnx', is not installed")

from onnx import helper
from tvms.relax.frontend.onnx import backend

from .onnx_laws import UNSCHEDULED, Node, by_reference, generator, model_of

FLOAT8 = ("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz")
FLOATS = ("float16", "bfloat16", "float32", "float64", *FLOAT8, "float8_e8m0fnu", "float4_e2m1fn")
NARROW = ("int2", "uint2", "int4", "uint4")
INTEGERS = tuple(f"{sign}int{bits}" for sign in ("", "u") for bits in (2, 4, 8, 16, 32, 64))
DTYPES = (*FLOATS, *INTEGERS, "bool")
MOST = 64 * int(os.environ.get("TVMS_FUZZ", "1"))
"""Number of random values of each dtype."""
_WIDE = [
    0.0,
    -0.0,
    0.5,
    1.5,
    2.5,
    -2.5,
    1e-3,
    1e-40,
    1e-45,
    3e38,
    np.inf,
    -np.inf,
    np.nan,
    *(2.0**n for n in range(-130, 129)),
]
_LIMITS = (2, 3, 6, 7, 15, 127, 240, 248, 448, 464, 480, 57344, 61440, 65504, 65520, 2**24, 2**31, 2**53)


def _dtype(name: str) -> np.dtype[Any]:
    return np.dtype(getattr(ml_dtypes, name, name))


def _values(name: str, rng: np.random.Generator) -> Any:
    """Return values of a dtype."""
    dtype = _dtype(name)
    if name == "bool":
        return np.array([True, False])
    if name in NARROW:
        codes = np.arange(1 << int(name[-1]))
        return (codes if name.startswith("u") else codes - len(codes) // 2).astype(dtype)
    if name == "float4_e2m1fn":
        return np.arange(16, dtype="uint8").view(dtype)
    patterns = np.arange(256) if dtype.itemsize == 1 else rng.integers(0, 1 << 8 * dtype.itemsize, MOST, "uint64")
    found = patterns.astype(f"uint{8 * dtype.itemsize}").view(dtype)
    if name in INTEGERS:
        info = np.iinfo(dtype)
        near = [sign * limit + step for limit in _LIMITS for sign in (-1, 1) for step in (-1, 0, 1)]
        return np.concatenate([found, np.array([n for n in near if info.min <= n <= info.max], dtype)])
    ties = [
        limit * (1 + step * 2.0**-n)
        for limit in (1, *_LIMITS)
        for step in (-1, 0, 1)
        for n in (2, 3, 4, 8, 11, 12, 25, 40)
    ]
    with np.errstate(all="ignore"):
        return np.concatenate([found, np.array([*_WIDE, *ties, *(-x for x in ties)]).astype(dtype)])


def _within(x: Any, source: str, target: str) -> Any:
    """Return the values whose cast is defined: those of floats that an integer can have."""
    if target not in INTEGERS or source not in FLOATS:
        return x
    info = ml_dtypes.iinfo(_dtype(target))
    with np.errstate(invalid="ignore"):
        whole = np.trunc(x.astype("float64"))
        return x[(whole >= float(info.min)) & (whole < float(int(info.max) + 1))]


def _expected(x: Any, source: str, target: str, attributes: dict[str, Any]) -> Any:
    """Return what the reference evaluator computes; it cannot cast some dtypes to others, so these are widened, which is exact."""
    if source in NARROW:
        x = x.astype("int8" if target.startswith("float4") else "int64")
    if source == "float8_e8m0fnu":
        x = x.astype("float32")
    return by_reference(model_of(Node("Cast", [x], attributes)), {"x0": x})[0]


def _bits(x: Any) -> Any:
    """Return the values as their bits, with one bit pattern for all NaN."""
    if x.dtype.kind in "iub" or "int" in x.dtype.name:
        return x.astype("int64")
    plain = x.astype("float64")
    return np.where(np.isnan(plain), np.nan, plain).view("int64")


def _check(target: str, attributes: dict[str, Any], rng: np.random.Generator) -> None:
    """Compare casts from all dtypes to one, in one model."""
    attributes = {"to": helper.np_dtype_to_tensor_dtype(_dtype(target)), **attributes}
    given = {source: _within(_values(source, rng), source, target) for source in DTYPES if source != target}
    infos = [
        helper.make_tensor_value_info(f"x_{name}", helper.np_dtype_to_tensor_dtype(x.dtype), ["n" + name])
        for name, x in given.items()
    ]
    nodes = [helper.make_node("Cast", [f"x_{name}"], [f"y_{name}"], **attributes) for name in given]
    results = [helper.make_tensor_value_info(f"y_{name}", attributes["to"], ["n" + name]) for name in given]
    model = helper.make_model(
        helper.make_graph(nodes, "casts", infos, results), opset_imports=[helper.make_opsetid("", 25)]
    )
    for (source, x), found in zip(
        given.items(), backend.prepare(model, **UNSCHEDULED).run(list(given.values())), strict=True
    ):
        with np.errstate(all="ignore"):
            expected = _expected(x, source, target, attributes)
        assert found.dtype == expected.dtype
        differ = np.flatnonzero(_bits(found) != _bits(expected))[:5]
        shown = [(x[place], found[place], expected[place]) for place in differ]
        assert not shown, f"{source} to {target} {attributes}: (value, result, expected) {shown}"


@pytest.mark.deep(4)
@pytest.mark.parametrize("target", DTYPES)
def test_casts(target: str) -> None:
    _check(target, {}, generator())


@pytest.mark.parametrize("target", FLOAT8)
def test_casts_without_saturation(target: str) -> None:
    _check(target, {"saturate": 0}, generator())


@pytest.mark.parametrize("saturate", [0, 1])
@pytest.mark.parametrize("round_mode", ["up", "down", "nearest"])
def test_casts_to_powers_of_two(round_mode: str, saturate: int) -> None:
    _check("float8_e8m0fnu", {"round_mode": round_mode, "saturate": saturate}, generator())


def test_casts_to_the_dtype_of_another_tensor() -> None:
    """Operators that take the dtype from a tensor are the same casts."""
    rng = generator()
    for target in DTYPES:
        x, like = _within(_values("float32", rng), "float32", target), np.zeros((), _dtype(target))
        for attributes in ({}, {"saturate": 0}):
            plain = Node("Cast", [x], {"to": helper.np_dtype_to_tensor_dtype(like.dtype), **attributes})
            found = backend.prepare(model_of(Node("CastLike", [x, like], attributes)), **UNSCHEDULED).run([x, like])
            expected = backend.prepare(model_of(plain), **UNSCHEDULED).run([x])
            assert found[0].tobytes() == expected[0].tobytes()
