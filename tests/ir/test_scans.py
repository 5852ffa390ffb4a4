"""Scans of long axes, which are divided into parts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tvms

PLACES = ((0, 0), (1, 1), (-1, 1), (None, 1))
"""The axis of a scan, and the dimension that gets the size."""
SIZES = (0, 1, 63, 64, 65, 127, 128, 129, 200, 64 * 128, 64 * 129 + 5)


def _scan(name: str, shape: str, axis: str, dtype: str, is_exclusive: bool) -> str:
    return f"""#tvms 1
I.ir_module Module:
    R.function main(x: R.Tensor({shape}, "{dtype}")):
        with R.dataflow():
            y = R.{name}(x, axis={axis}, exclusive={is_exclusive})
            R.output(y)
        return y
"""


def _expected(name: str, x: np.ndarray, axis: int | None, is_exclusive: bool) -> np.ndarray:
    data, axis = (x.reshape(-1), 0) if axis is None else (x, axis)
    result = getattr(np, name)(data, axis, dtype=x.dtype)
    if is_exclusive and data.shape[axis]:
        first = np.full_like(np.take(result, [0], axis), int(name == "cumprod"))
        result = np.concatenate([first, np.take(result, range(data.shape[axis] - 1), axis)], axis)
    return result


def _compiled(name: str, shape: str, axis: int | None, is_exclusive: bool) -> Any:
    module = tvms.parse(_scan(name, shape, str(axis), "float32" if name == "cumsum" else "int32", is_exclusive))
    return tvms.compile(module)["main"]


def _input(name: str, shape: list[int]) -> np.ndarray:
    random = np.random.default_rng(shape)
    if name == "cumsum":
        return random.integers(-8, 8, shape).astype("float32")
    return random.choice([-1, 1, 2, 3], shape).astype("int32")


@pytest.mark.deep(4)
@pytest.mark.parametrize("is_exclusive", [False, True])
@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
@pytest.mark.parametrize(("axis", "place"), PLACES)
def test_parts_of_scans_of_symbolic_sizes(axis: int | None, place: int, name: str, is_exclusive: bool) -> None:
    """Along each axis, and of flattened tensors; also sizes between parts."""
    main = _compiled(name, '("n", 3)' if place == 0 else '(2, "n")', axis, is_exclusive)
    for size in SIZES:
        x = _input(name, [size, 3] if place == 0 else [2, size])
        np.testing.assert_array_equal(np.asarray(main(x)), _expected(name, x, axis, is_exclusive))


@pytest.mark.parametrize("is_exclusive", [False, True])
@pytest.mark.parametrize(("number", "size"), list(enumerate(SIZES)))
def test_parts_of_scans(number: int, size: int, is_exclusive: bool) -> None:
    """The same for constant sizes; axes alternate between them."""
    for name, turn in (("cumsum", 0), ("cumprod", 1)):
        axis, place = PLACES[(number + turn) % len(PLACES)]
        shape = [2, 3] if size < 1000 else [1, 2]
        shape[place] = size
        x = _input(name, shape)
        found = np.asarray(_compiled(name, str(tuple(shape)), axis, is_exclusive)(x))
        np.testing.assert_array_equal(found, _expected(name, x, axis, is_exclusive))


@pytest.mark.parametrize("dtype", ["int8", "float16", "float64"])
def test_scans_convert_first(dtype: str) -> None:
    """The elements are converted to the dtype of the result before they are added."""
    x = np.random.default_rng(3).integers(0, 100, (2, 300)).astype(dtype)
    module = tvms.parse(f"""#tvms 1
I.ir_module Module:
    R.function main(x: R.Tensor((2, 300), "{dtype}")):
        return R.cumsum(x, axis=1, dtype="float32")
""")
    np.testing.assert_array_equal(np.asarray(tvms.compile(module)["main"](x)), np.cumsum(x, 1, dtype="float32"))


def test_scans_on_a_gpu() -> None:
    x = np.random.default_rng(4).integers(-8, 8, (3, 300)).astype("float32")
    module = tvms.parse(_scan("cumsum", "(3, 300)", "1", "float32", False))
    found = tvms.compile(module, "cuda -arch=sm_80 -simulate=each")["main"](x)
    np.testing.assert_array_equal(np.asarray(found), np.cumsum(x, 1))
