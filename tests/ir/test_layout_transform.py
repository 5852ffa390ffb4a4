"""Layout transforms of tensors whose sizes are symbolic: their shape, and their values for all sizes."""

from __future__ import annotations

import numpy as np
import pytest
import tvms
from tvms.ir.passes.transform import get_pass

TEXT = """\
I.ir_module Module:
    R.function main(x: R.Tensor(({shape},), "float32"), z: R.Tensor(("m",), "float32")):
        with R.dataflow():
            y = R.layout_transform(x, index_map=T.index_map(lambda {map}), pad_value=7.0)
            R.output(y)
        return y
"""
CASES = [
    ('"n", "m"', "i, j: (i, j // 3, j % 3)", '"n", "(m - m % -3) // 3", 3'),
    ('"n", "m"', "i, j: (j // 4, i, j % 4)", '"(m - m % -4) // 4", "n", 4'),
    ('"n", "m"', "i, j: (i // 2, j // 3, i % 2, j % 3)", '"(n - n % -2) // 2", "(m - m % -3) // 3", 2, 3'),
    ('"n", "m"', "i, j: (j, i * 1)", '"m", "n"'),
    ('3, "m"', "i, j: (j * 3 + i,)", '"m * 3",'),
    ('"n", "6 * m"', "i, j: (j // 3, i, j % 3)", '"m * 2", "n", 3'),
    ('"n", "m"', "i, j: (i, j // 8, j // 2 % 4, j % 2)", '"n", "(m - m % -8) // 8", 4, 2'),
]
"""Shapes, maps, and the shapes that follow."""


@pytest.mark.parametrize(("shape", "map", "expected"), CASES)
def test_a_layout_transform_of_symbolic_sizes(shape: str, map: str, expected: str) -> None:
    module = tvms.parse(TEXT.format(shape=shape, map=map))
    assert f'-> R.Tensor(({expected}), "float32"):' in module.script()
    legalized = get_pass("LegalizeOps")(module)
    assert "R.layout_transform" not in legalized.script()
    built = tvms.compile(module)
    for n, m in ((0, 4), (3, 0), (1, 1), (2, 3), (5, 7), (4, 12)):
        sizes = tuple(
            eval(size, {}, {"n": n, "m": m}) if isinstance(size, str) else size for size in eval(f"[{shape}]")
        )
        x, z = np.arange(float(np.prod(sizes)), dtype="float32").reshape(sizes), np.zeros(m, "float32")
        found = tvms.interpret(module, "main", [x, z])
        np.testing.assert_array_equal(found, _by_loops(x, map, found.shape))
        np.testing.assert_array_equal(tvms.interpret(legalized, "main", [x, z]), found)
        np.testing.assert_array_equal(built["main"](x, z), found)


def _by_loops(x: np.ndarray, map: str, shape: tuple[int, ...]) -> np.ndarray:
    result, places = np.full(shape, 7.0, "float32"), eval(f"lambda {map}")
    for at in np.ndindex(x.shape):
        result[places(*at)] = x[at]
    return result


def test_a_map_of_overlapping_indices_keeps_its_operator() -> None:
    """Its elements have several sources, or none, so that no loop function gathers them."""
    module = tvms.parse(TEXT.format(shape='"n", "m"', map="i, j: (i, j % 3)"))
    assert '-> R.Tensor(("n", 3), "float32"):' in module.script()
    assert "R.layout_transform" in get_pass("LegalizeOps")(module).script()
