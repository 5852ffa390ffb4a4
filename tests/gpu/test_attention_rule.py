"""Attention in one kernel: interpreter = simulation = NumPy; no spills, no races."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
import tvms
from tvms.codegen.build import Settings, prepare
from tvms.codegen.gpu.executable import lowered_for_gpu
from tvms.codegen.gpu.ptxas import assemble, find_ptxas
from tvms.codegen.gpu.races import find_races
from tvms.codegen.gpu.rules import bind_threads
from tvms.codegen.target import get_target
from tvms.ir import te
from tvms.ir.base import IRModule
from tvms.ir.interp import run
from tvms.ir.ops.attention import attended

TARGET = "cuda -arch=sm_80"
NUMPY: dict[str, Any] = {"float16": np.float16, "bfloat16": ml_dtypes.bfloat16}
Sizes = tuple[int, int, int, int, int, int]


def program(sizes: Sizes, dtype: str, offset: int | None = None) -> IRModule:
    """Return the attention of (batch, rows, columns, heads, heads of keys, width)."""
    batch, rows, columns, heads, groups, width = sizes
    query = te.placeholder((batch, rows, heads, width), dtype, "Q")
    key, value = (te.placeholder((batch, columns, groups, width), dtype, name) for name in "KV")
    result = attended(query, key, value, width**-0.5, offset)
    return IRModule({"main": te.create_prim_func([query, key, value, result])})


def inputs(sizes: Sizes, dtype: str, factor: float, offset: int | None = None) -> tuple[list[Any], Any]:
    """Return the query, key and value, and their attention in float32."""
    batch, rows, columns, heads, groups, width = sizes
    random = np.random.default_rng(rows + columns)
    shapes = [(batch, rows, heads, width), *[(batch, columns, groups, width)] * 2]
    args = [(random.normal(size=shape) * factor).astype(NUMPY[dtype]) for shape in shapes]
    q, k, v = (np.moveaxis(x.astype(np.float32), 2, 1) for x in args)
    k, v = (np.repeat(x, heads // groups, 1) for x in (k, v))
    scores = q @ np.swapaxes(k, -1, -2) / width**0.5
    seen = np.ones((rows, columns), bool) if offset is None else np.tri(rows, columns, offset, dtype=bool)
    power = np.where(seen, np.exp(scores - scores.max(-1, keepdims=True, where=seen, initial=-np.inf)), 0)
    total = power.sum(-1, keepdims=True)
    return args, np.moveaxis(power / np.where(total == 0, 1, total) @ v, 1, 2)


def error(found: Any, expected: Any, factor: float) -> float:
    """Return the largest difference, in units of the rounding of the dtype for values of the size of `factor`."""
    step = 2.0 ** (-9 if found.dtype == np.float16 else -6)
    return float(np.abs(found.astype(np.float32) - expected).max() / (factor * step))


@pytest.mark.deep(4)
@pytest.mark.parametrize(
    ("sizes", "dtype", "factor", "order"),
    [
        ((1, 16, 72, 1, 1, 64), "float16", 3.0, "each"),
        ((1, 70, 65, 2, 1, 128), "bfloat16", 10.0, "each"),
        ((2, 64, 128, 2, 2, 64), "float16", 30.0, "ascending"),
        ((1, 65, 200, 4, 2, 64), "bfloat16", 1.0, "descending"),
    ],
)
def test_simulation_and_numpy_agree(sizes: Sizes, dtype: str, factor: float, order: str) -> None:
    args, expected = inputs(sizes, dtype, factor)
    simulated = tvms.compile(program(sizes, dtype), target=f"{TARGET} -simulate={order}", level=0)
    assert [decision.rule for decision in simulated.decisions["main"]] == ["attention"]
    simulated["main"](*args, found := np.zeros(expected.shape, NUMPY[dtype]))
    assert error(found, expected, factor) <= 1


@pytest.mark.deep(5)
@pytest.mark.parametrize(
    ("sizes", "offset", "order"),
    [
        ((1, 70, 70, 1, 1, 64), 0, "each"),
        ((1, 64, 128, 2, 1, 64), 64, "each"),
        ((1, 40, 130, 1, 1, 128), 90, "ascending"),
        ((1, 130, 40, 2, 2, 64), 0, "descending"),
        ((1, 200, 70, 1, 1, 64), -130, "each"),
    ],
)
def test_causal_masks(sizes: Sizes, offset: int, order: str) -> None:
    """Whole tiles behind the mask are not computed; with a negative offset, some rows and blocks attend to nothing."""
    args, expected = inputs(sizes, "float16", 3.0, offset)
    interpreted = np.zeros(expected.shape, np.float16)
    module = program(sizes, "float16", offset)
    if sizes[1] * sizes[2] < 5000:
        run(module, "main", [*args, interpreted])
        assert error(interpreted, expected, 3.0) <= 1
    simulated = tvms.compile(module, target=f"{TARGET} -simulate={order}", level=0)
    assert [decision.rule for decision in simulated.decisions["main"]] == ["attention"]
    simulated["main"](*args, found := np.zeros(expected.shape, np.float16))
    assert error(found, expected, 3.0) <= 1


def test_keys_of_a_whole_tile_may_have_no_weight() -> None:
    """Their scores are -inf, as is the maximum after the first tile."""
    sizes = (1, 16, 70, 1, 1, 64)
    args, _ = inputs(sizes, "bfloat16", 1.0)
    args[0] = np.abs(args[0])
    args[1][0, :64] = -np.inf
    query, key, value = (x.astype(np.float32)[0, :, 0] for x in args)
    power = np.exp(query @ key[64:].T / 8)
    expected = (power / power.sum(1, keepdims=True) @ value[64:])[None, :, None]
    simulated = tvms.compile(program(sizes, "bfloat16"), target=f"{TARGET} -simulate=ascending", level=0)
    simulated["main"](*args, found := np.zeros(expected.shape, NUMPY["bfloat16"]))
    assert error(found, expected, 1.0) <= 1


@pytest.mark.deep(2)
@pytest.mark.parametrize("way", ["races", "uninitialized memory"])
def test_interpreter_and_numpy_agree(way: str) -> None:
    """The threads of the scheduled function do not race, and its kernel reads nothing that is not written; each takes half a minute."""
    sizes, dtype = (1, 8, 72, 1, 1, 64), "float16"
    target, module = get_target(TARGET), program(sizes, dtype)
    args, expected = inputs(sizes, dtype, 3.0)
    found = np.zeros(expected.shape, NUMPY[dtype])
    if way == "races":
        scheduled, _ = bind_threads(prepare(module, target).functions["main"], "sm_80")
        assert not find_races(IRModule({"main": scheduled}), "main", [*args, found])
    else:
        lowered = lowered_for_gpu(prepare(module, target), target, Settings())
        run(lowered, "main", [*(x.ravel() for x in args), found.ravel()], track=True)
    assert error(found, expected, 3.0) <= 1


@pytest.mark.deep(6)
@pytest.mark.parametrize(
    ("options", "arch", "is_one_kernel", "offset"),
    [
        ("", "sm_80", True, None),
        (", scale=T.float32(0.125)", "sm_90a", True, None),
        (', causal_mask="TopLeft"', "sm_80", True, 0),
        (', causal_mask="BottomRight"', "sm_80", True, 20),
        (', causal_mask="TopLeft", window_size=90', "sm_80", False, 0),
        ("", "sm_75", False, None),
    ],
)
def test_operators_are_one_kernel(options: str, arch: str, is_one_kernel: bool, offset: int | None) -> None:
    shapes = {"q": (1, 50, 2, 64), "k": (1, 70, 2, 64), "v": (1, 70, 2, 64)}
    names = ", ".join(f'{name}: R.Tensor({shape}, "float16")' for name, shape in shapes.items())
    call = f"R.nn.attention(q, k, v{options})"
    module = tvms.parse(f"I.ir_module Module:\n    R.function main({names}):\n        y = {call}\n        return y\n")
    simulated = tvms.compile(module, target=f"cuda -arch={arch} -simulate=ascending", level=0)
    rules = [decision.rule for decisions in simulated.decisions.values() for decision in decisions]
    assert ("attention" in rules) == is_one_kernel
    args, expected = inputs((1, 50, 70, 2, 2, 64), "float16", 1.0, offset)
    assert error(np.asarray(simulated["main"](*args)), expected, 1.0) <= 4


@pytest.mark.parametrize("arch", ["sm_75", "sm_80"])
def test_masked_attention_keeps_its_weights(arch: str) -> None:
    """The kernel of the second product reads them by asynchronous copies, so that they are in global memory."""
    names = ", ".join(f'{name}: R.Tensor((1, 40, 2, 64), "float16")' for name in "qkv")
    call = 'R.nn.attention(q, k, v, causal_mask="TopLeft", window_size=40)'
    module = tvms.parse(f"I.ir_module Module:\n    R.function main({names}):\n        y = {call}\n        return y\n")
    args, _ = inputs((1, 40, 40, 2, 2, 64), "float16", 1.0)
    found = np.asarray(tvms.compile(module, target=f"cuda -arch={arch} -simulate=each", level=0)["main"](*args))
    q, k, v = (np.moveaxis(x.astype(np.float32), 2, 1) for x in args)
    scores = np.where(np.tri(40, dtype=bool), q @ np.swapaxes(k, -1, -2) / 8, -np.inf)
    power = np.exp(scores - scores.max(-1, keepdims=True))
    expected = np.moveaxis(power / power.sum(-1, keepdims=True) @ v, 1, 2)
    np.testing.assert_allclose(found.astype(np.float32), expected, atol=2e-2)


@pytest.mark.deep(12)
@pytest.mark.parametrize("arch", ["sm_80", "sm_90"])
@pytest.mark.parametrize("width", [64, 128])
@pytest.mark.parametrize("offset", [None, 0, -100])
def test_kernels_assemble_without_spills(arch: str, width: int, offset: int | None) -> None:
    module, tool = program((1, 1000, 1000 + min(offset or 0, 0), 16, 4, width), "float16", offset), find_ptxas()
    ptx = str(tvms.emit(module, "ptx", f"cuda -arch={arch}"))
    assert ptx.count(".entry") == 1
    assert "st.local" not in ptx
    if tool is not None:
        (usage,) = assemble(ptx, arch, tool).usage.values()
        assert (usage.spill_bytes, usage.stack_bytes) == (0, 0)
