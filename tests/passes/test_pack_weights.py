"""Packed weights: the same bits as with weights that kernels arrange themselves, and no second copy."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tvms
from tvms import relax
from tvms.codegen.target import get_target
from tvms.ir.passes.transform import PassContext

PANEL = 2 * get_target("llvm").processor.vector_bytes // 4
"""Number of columns of a panel of float32 on this processor."""
SEED = int(os.environ.get("TVMS_SEED", "33"))
TEXT = """
I.ir_module Module:
    R.function main(x: R.Tensor({data}, "{dtype}"), w: R.Tensor({weight}, "{dtype}"), b: R.Tensor(({n},), "{dtype}")):
        R.func_attr({{"num_input": 1}})
        with R.dataflow():
            {weight_used}
            lv1 = R.matmul(x, lv)
            lv2 = R.add(lv1, b)
            gv = R.nn.relu(lv2)
            R.output(gv)
        return gv
"""


def network(rows: tuple[Any, ...], n: int, k: int, dtype: str = "float32", is_transposed: bool = True) -> tvms.IRModule:
    """A product with constants, with `rows` before the last dimension of its input."""
    shapes = ("lv = R.permute_dims(w)", (n, k)) if is_transposed else ("lv = w", (k, n))
    data = ", ".join(f'"{size}"' if isinstance(size, str) else str(size) for size in (*rows, k))
    text = TEXT.format(data=f"({data})", weight=shapes[1], weight_used=shapes[0], dtype=dtype, n=n)
    rng = np.random.default_rng(SEED)
    values = {"w": rng.standard_normal(shapes[1]).astype(dtype), "b": rng.standard_normal(n).astype(dtype)}
    return relax.transform.BindParams("main", values)(relax.transform.Normalize()(tvms.parse(text)))


def constants(module: tvms.IRModule) -> list[tuple[int, ...]]:
    """The shapes of all matrices among the constants."""
    nodes = tvms.ir.visit.walk(module["main"])
    found = {id(node.data): node.data.shape for node in nodes if isinstance(node, relax.Constant)}
    return [shape for shape in found.values() if len(shape) > 1]


def test_results_have_the_same_bits() -> None:
    print("seed", SEED)
    rng = np.random.default_rng(SEED)
    for _ in range(12 if "TVMS_FUZZ" in os.environ else 4):
        rows: tuple[Any, ...] = tuple(rng.choice([1, 2, 3, 5, 16, 33]) for _ in range(rng.integers(1, 3)))
        n, k, dtype = 32 * int(rng.integers(1, 5)), int(rng.integers(40, 300)), str(rng.choice(["float32", "float64"]))
        symbolic = ("n", *rows[1:]) if rng.integers(0, 2) else rows
        k = max(k, -(-4096 // n))
        module = network(symbolic, n, k, dtype, bool(rng.integers(0, 2)))
        executable = tvms.compile(module)
        with PassContext(disabled_pass=["PackWeights"]):
            plain = tvms.compile(module)
        is_packed = symbolic is not rows or np.prod(rows) > 1
        assert [len(shape) for shape in constants(executable.module)] == [3 if is_packed else 2], (symbolic, n, k)
        if is_packed:
            decisions = [str(decision) for found in executable.decisions.values() for decision in found]
            assert any("matmul" in text.split(":")[1] for text in decisions), decisions
        sizes = [rows, *[(count, *rows[1:]) for count in (0, 1, 2, 7, 40)]] if symbolic is not rows else [rows]
        for size in sizes:
            x = rng.standard_normal((*size, k)).astype(dtype)
            np.testing.assert_array_equal(
                executable["main"](x), plain["main"](x), err_msg=f"{size} of {symbolic}, {n}, {k}"
            )


def test_a_weight_that_two_products_read_is_packed_once() -> None:
    text = """
R.function main(x: R.Tensor((4, 64), "float32"), w: R.Tensor((64, 64), "float32")):
    with R.dataflow():
        lv = R.matmul(x, w)
        gv = R.matmul(lv, w)
        R.output(gv)
    return gv
"""
    weight = np.random.default_rng(SEED).standard_normal((64, 64)).astype("f4")
    module = relax.transform.BindParams("main", {"w": weight})(relax.transform.Normalize()(tvms.parse(text)))
    assert constants(tvms.compile(module).module) == [(64 // PANEL, 64, PANEL)]


def test_a_weight_with_another_reader_is_not_copied() -> None:
    text = """
R.function main(x: R.Tensor((4, 64), "float32"), i: R.Tensor((4,), "int64"), w: R.Tensor((64, 64), "float32")):
    with R.dataflow():
        lv = R.matmul(x, w)
        lv1 = R.take(w, i, axis=0)
        gv = R.add(lv, lv1)
        R.output(gv)
    return gv
"""
    weight = np.random.default_rng(SEED).standard_normal((64, 64)).astype("f4")
    module = relax.transform.BindParams("main", {"w": weight})(relax.transform.Normalize()(tvms.parse(text)))
    assert constants(tvms.compile(module).module) == [(64, 64)]


def test_panels_of_parameters_are_computed_by_a_function_of_their_own() -> None:
    module = network((6,), 64, 80)
    text = TEXT.format(data="(6, 80)", weight="(64, 80)", weight_used="lv = R.permute_dims(w)", dtype="float32", n=64)
    given = relax.transform.Normalize()(tvms.parse(text))
    transform = relax.transform
    passes = [transform.LegalizeOps(), transform.FuseTransposeMatmul(), transform.DeadCodeElimination()]
    with PassContext(opt_level=3):
        lifted = tvms.transform.Sequential([*passes, transform.PackWeights(), transform.LiftTransformParams()])(given)
    rng = np.random.default_rng(SEED)
    weights = rng.standard_normal((64, 80)).astype("f4"), rng.standard_normal(64).astype("f4")
    executable = tvms.compile(lifted)
    packed = executable["main_transform_params"](weights)
    assert [np.asarray(value).shape for value in packed] == [(64,), (2, 80, 32)]
    x = rng.standard_normal((6, 80)).astype("f4")
    np.testing.assert_array_equal(executable["main"](x, *packed), tvms.compile(module)["main"](x))


@pytest.mark.parametrize("index_map", [
    "lambda i, j: (i // 2, j, i % 2)", "lambda i, j: (j, i)", "lambda i, j: (j // 3, i % 4, j % 3, i // 4)",
    "lambda i, j: (i // 3, j, i % 3)", "lambda i, j: (i * 6 + j,)", "lambda i, j: (i // 2 // 2, j, i // 2 % 2, i % 2)",
])  # fmt: skip
def test_layouts_of_arrays_are_those_of_their_elements(index_map: str) -> None:
    """The NumPy oracle, which may return a transposed view, computes the same as the loop function of the operator."""
    text = f"""
R.function main(x: R.Tensor((8, 6), "float32")):
    with R.dataflow():
        gv = R.layout_transform(x, index_map=T.index_map({index_map}), pad_value=7.0)
        R.output(gv)
    return gv
"""
    module = relax.transform.Normalize()(tvms.parse(text))
    x = np.arange(48, dtype="f4").reshape(8, 6)
    np.testing.assert_array_equal(tvms.interpret(module, "main", [x]), tvms.compile(module)["main"](x))


def test_a_cache_entry_does_not_hold_packed_weights(tmp_path: Path) -> None:
    module, x = network((6,), 256, 256), np.ones((6, 256), "f4")
    first = tvms.compile(module, cache=tmp_path)
    again = tvms.compile(module, cache=tmp_path)
    assert "llvm" not in again.stats
    assert constants(again.module) == constants(first.module) == [(256 // PANEL, 256, PANEL)]
    np.testing.assert_array_equal(first["main"](x), again["main"](x))
    (entry,) = tmp_path.rglob("*.tvmsc")
    assert entry.stat().st_size < 256 * 256 * 4
