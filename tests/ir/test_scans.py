"""Scans of long axes, which are divided into parts."""

from __future__ import annotations

import numpy as np
import pytest
import tvms

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


@pytest.mark.parametrize("is_exclusive", [False, True])
@pytest.mark.parametrize("is_symbolic", [False, True])
@pytest.mark.parametrize("size", SIZES)
def test_parts_of_scans(size: int, is_symbolic: bool, is_exclusive: bool) -> None:
    """Along each axis, and of flattened tensors; constant and symbolic sizes, also those between parts."""
    random = np.random.default_rng(size)
    for axis, place in ((0, 0), (1, 1), (-1, 1), (None, 1)):
        shape = [2, 3] if size < 1000 else [1, 2]
        shape[place] = size
        letters = [str(extent) for extent in shape]
        letters[place] = '"n"' if is_symbolic else str(size)
        for name, dtype, x in (
            ("cumsum", "float32", random.integers(-8, 8, shape).astype("float32")),
            ("cumprod", "int32", random.choice([-1, 1, 2, 3], shape).astype("int32")),
        ):
            module = tvms.parse(_scan(name, f"({', '.join(letters)})", str(axis), dtype, is_exclusive))
            found = np.asarray(tvms.compile(module)["main"](x))
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
