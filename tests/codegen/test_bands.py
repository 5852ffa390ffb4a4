"""Bands: attention and padded convolutions, a part of their rows at a time, compute what they compute as a whole."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tvms
from msgspec.structs import replace
from tvms.codegen import build
from tvms.codegen.rules import bands, rules_for
from tvms.ir.passes.transform import get_pass


def compiled(function: Any, l2_bytes: int, least: int, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, list[str]]:
    """Return `function` compiled for a processor with a cache of that size, and the blocks that it computes in bands."""
    monkeypatch.setattr(bands, "LEAST_USES", least)
    monkeypatch.setattr(build, "rules_for", lambda machine: rules_for(replace(machine, l2_bytes=l2_bytes, threads=2)))
    executable = tvms.compile(function)
    return executable["main"], [found.block for found in executable.decisions["main"] if found.rule == "bands"]


def attention(batch: int, queries: int, keys: int, heads: int, mask: str | None, has_bias: bool) -> Any:
    bias = f', bias: R.Tensor(({batch}, {heads}, {queries}, {keys}), "float32")' if has_bias else ""
    mask_text = f', causal_mask="{mask}"' if mask else ""
    module = tvms.parse(f"""
R.function main(q: R.Tensor(({batch}, {queries}, {heads}, 12), "float32"), k: R.Tensor(({batch}, {keys}, {heads}, 12), "float32"), v: R.Tensor(({batch}, {keys}, {heads}, 20), "float32"){bias}):
    y = R.nn.attention(q, k, v{", bias" if has_bias else ""}{mask_text})
    return y
""")
    functions = get_pass("LegalizeOps")(module).functions
    return next(function for name, function in functions.items() if name != "main")


CASES = [
    (1, 37, 41, 2, None, False),
    (2, 64, 64, 3, "TopLeft", False),
    (3, 29, 50, 1, "BottomRight", True),
    (1, 50, 29, 2, "BottomRight", False),
    (1, 48, 48, 1, None, True),
]


@pytest.mark.deep(10)
@pytest.mark.parametrize("least", [8, 256])
@pytest.mark.parametrize(("batch", "queries", "keys", "heads", "mask", "has_bias"), CASES)
def test_attention_in_bands(
    batch: int, queries: int, keys: int, heads: int, mask: str | None, has_bias: bool, least: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """Next to infinities, NaN and rows that attend to nothing too."""
    function = attention(batch, queries, keys, heads, mask, has_bias)
    banded, found = compiled(function, 4096, least, monkeypatch)
    whole, others = compiled(function, 1 << 30, least, monkeypatch)
    is_split = batch * heads > 1 or least < queries
    assert bool(found) is is_split
    assert not others
    random = np.random.default_rng(queries)
    arrays = [random.standard_normal([int(size) for size in buffer.shape]).astype("f4") for buffer in buffers(function)]
    for array in arrays[:3]:
        array.flat[random.integers(0, array.size, 2)] = [np.inf, np.nan]
    if has_bias:
        arrays[3][:, :, 5] = -np.inf
    results = [np.full(arrays[-1].shape, 7, "f4") for _ in range(3)]
    for call, result in zip((banded, whole), results, strict=False):
        call(*arrays[:-1], result)
    tvms.interpret(function, "main", [*arrays[:-1], results[2]])
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_allclose(results[0], results[2], rtol=1e-4, atol=1e-5)


def buffers(function: Any) -> list[Any]:
    return [function.buffer_map[param] for param in function.params]


def test_padded_convolutions_image_by_image(monkeypatch: pytest.MonkeyPatch) -> None:
    module = tvms.parse("""
R.function main(x: R.Tensor((3, 5, 9, 11), "float32"), w: R.Tensor((7, 5, 3, 3), "float32")):
    y = R.nn.conv2d(x, w, padding=1)
    return y
""")
    functions = get_pass("LegalizeOps")(module).functions
    function: Any = next(function for name, function in functions.items() if name != "main")
    banded, found = compiled(function, 4096, 8, monkeypatch)
    assert found == ["pad_temp, conv2d_nchw"]
    random = np.random.default_rng(3)
    x, w = random.standard_normal((3, 5, 9, 11)).astype("f4"), random.standard_normal((7, 5, 3, 3)).astype("f4")
    results = np.zeros((2, 3, 7, 9, 11), "f4")
    banded(x, w, results[0])
    tvms.interpret(function, "main", [x, w, results[1]])
    np.testing.assert_allclose(results[0], results[1], atol=1e-5)


def test_no_bands_where_results_stay_in_the_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not compiled(attention(2, 16, 16, 2, None, False), 1 << 20, 8, monkeypatch)[1]


def test_no_bands_of_symbolic_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    module = tvms.parse("""
R.function main(q: R.Tensor((2, "n", 3, 12), "float32"), k: R.Tensor((2, "n", 3, 12), "float32"), v: R.Tensor((2, "n", 3, 12), "float32")):
    y = R.nn.attention(q, k, v)
    return y
""")
    functions = get_pass("LegalizeOps")(module).functions
    function: Any = next(function for name, function in functions.items() if name != "main")
    call, found = compiled(function, 4096, 8, monkeypatch)
    assert not found
    q, k = np.random.default_rng(1).standard_normal((2, 2, 33, 3, 12)).astype("f4")
    results = np.zeros((2, *q.shape), "f4")
    call(q, k, k, results[0])
    tvms.interpret(function, "main", [q, k, k, results[1]])
    np.testing.assert_allclose(results[0], results[1], atol=1e-5)
