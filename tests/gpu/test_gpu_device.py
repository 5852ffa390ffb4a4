"""On a machine with a GPU (`make gpu-test`): kernels do there what they do here."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tvms
from gpu.tensor_copy_programs import BOXES, box
from gpu.test_attention_rule import Sizes, error, inputs, program
from gpu.test_clusters import PROGRAMS, arguments, expected
from gpu.test_cuda_graphs import CHAIN, W, X
from gpu.test_gemv_rule import CASES, TOLERANCES, assert_right
from gpu.test_gpu_jumps import PROGRAMS as JUMPS
from gpu.test_gpu_jumps import arguments as jump_arguments
from gpu.test_gpu_jumps import program as jumping
from gpu.test_matrix_units import MOVED, WAIT
from gpu.test_tensor_copies import module
from gpu.warpgroup_programs import DEEP, LAYOUTS, array, deep_product, one_product, product
from tvms.codegen.gpu.driver import find_driver, why_missing
from tvms.ir import tir
from tvms.testing.oracle import first_difference, random_inputs

SAMPLES = sorted((Path(__file__).parents[2] / "samples").glob("*_gpu_*.tvms"))
MISSING = why_missing()
pytestmark = pytest.mark.skipif(bool(MISSING) and not os.environ.get("TVMS_GPU"), reason=f"there is no GPU: {MISSING}")


def test_the_gpu_is_there() -> None:
    assert find_driver().arch.startswith("sm_")


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_samples(path: Path) -> None:
    module = tvms.load(path)
    there, here = tvms.compile(module, target=f"cuda -arch={find_driver().arch}"), tvms.compile(module)
    for name, function in module.functions.items():
        if not isinstance(function, tir.PrimFunc):
            continue
        values = random_inputs(function, np.random.default_rng(0))
        expected = [value.copy() for value in values]
        here[name](*expected)
        arrays = [tvms.nd.array(value, tvms.cuda()) for value in values]
        there[name](*arrays)
        for found, wanted in zip(arrays, expected, strict=True):
            difference = first_difference(found.numpy(), wanted)
            assert difference is None, difference


def test_cuda_graphs() -> None:
    with tvms.transform.PassContext(config={"relax.backend.use_cuda_graph": True}):
        main = tvms.compile(tvms.parse(CHAIN), target=f"cuda -arch={find_driver().arch}")["main"]
    weights, stream, kept = tvms.nd.array(W, tvms.cuda()), tvms.cuda().create_raw_stream(), []
    for number in range(12):
        x = tvms.nd.array(X + number, tvms.cuda())
        kept.append(main(x, weights, stream=stream if number % 3 == 2 else None))
    tvms.cuda().sync()
    assert list(map(str, main.cuda_graphs)) == ["2 of 4 kernels in 1 CUDA graph"]
    for number, result in enumerate(kept):
        np.testing.assert_array_equal(result.numpy(), 6 * (X + number + W))


@pytest.mark.parametrize("name", CASES)
def test_products_of_few_rows(name: str) -> None:
    text, dtype = CASES[name]
    module = tvms.parse(text)
    assert_right(module, there(tvms.compile(module, target=f"cuda -arch={find_driver().arch}")), TOLERANCES[dtype])


def there(executable: Any) -> dict[str, Any]:
    """Return a function that runs on the GPU and copies its last argument back."""

    def call(*args: Any) -> None:
        arrays = [tvms.nd.array(value, tvms.cuda()) for value in args]
        executable["main"](*arrays)
        args[-1][...] = arrays[-1].numpy()

    return {"main": call}


@pytest.mark.parametrize("name", JUMPS)
def test_jumps(name: str) -> None:
    module, found, expected = jumping(JUMPS[name]), jump_arguments(), jump_arguments()
    there(tvms.compile(module, target=f"cuda -arch={find_driver().arch}"))["main"](*found)
    tvms.compile(module, target="cuda -simulate=random")["main"](*expected)
    np.testing.assert_array_equal(found[2], expected[2])


# --- Hopper -------------------------------------------------------------------------------------------------------


@pytest.fixture
def hopper() -> str:
    """Return the target of Hopper's tensor cores."""
    if find_driver().arch != "sm_90a":
        pytest.skip("the GPU has no products of warpgroups")
    return "cuda -arch=sm_90a"


def on_gpu(program: Any, target: str, args: list[Any], shape: tuple[int, ...]) -> Any:
    """Return the float32 result of a function, its last argument."""
    arrays = [tvms.nd.array(value, tvms.cuda()) for value in (*args, np.zeros(shape, np.float32))]
    tvms.compile(program, target=target)["main"](*arrays)
    return arrays[-1].numpy()


@pytest.mark.parametrize("n", [8, 24, 64, 136, 256])
@pytest.mark.parametrize("layouts", LAYOUTS, ids="-".join)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_tiles_of_warpgroups(hopper: str, n: int, layouts: tuple[str, str], dtype: str) -> None:
    """The descriptor, the swizzle, the alignment of shared memory and the layout of the accumulator are those of the hardware."""
    text, args, expected = one_product(n, dtype, layouts)
    module = tvms.parse("I.ir_module Module:\n" + "\n".join(f"    {line}" for line in text.strip().split("\n")))
    assert np.array_equal(on_gpu(module, hopper, args, (64, n)), expected)


@pytest.mark.parametrize("n", [8, 136, 256])
@pytest.mark.parametrize(("a", "b"), [*zip(DEEP, DEEP, strict=True), ("float8_e4m3fn", "float8_e5m2")])
def test_tiles_of_bytes_and_tf32(hopper: str, n: int, a: str, b: str) -> None:
    text, args, expected = deep_product(n, a, b)
    module = tvms.parse("I.ir_module Module:\n" + "\n".join(f"    {line}" for line in text.strip().split("\n")))
    assert np.array_equal(on_gpu(module, hopper, args, (64, n)), expected)


@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("is_turned", [False, True])
def test_stored_matrices(hopper: str, count: int, is_turned: bool) -> None:
    text = MOVED.format(
        dtype="float16", row=8, size=256, count=count, loads_turned=False, stores_turned=is_turned, wait=WAIT
    )
    a = np.random.default_rng(0).integers(0, 100, (32, 8)).astype(np.float16)
    arrays = [tvms.nd.array(value, tvms.cuda()) for value in (a, np.zeros_like(a))]
    tvms.compile(tvms.parse(text), target=hopper)["main"](*arrays)
    simulated = np.zeros_like(a)
    tvms.compile(tvms.parse(text), target="cuda -simulate=random")["main"](a, simulated)
    assert np.array_equal(arrays[1].numpy(), simulated)


@pytest.mark.parametrize("case", BOXES, ids=str)
def test_boxes(hopper: str, case: Any) -> None:
    """Tensor maps, the swizzle, zeros outside of the matrix, and the bytes that a barrier counts are those of the hardware."""
    text, args, expected = box(*case)
    module = tvms.parse("I.ir_module Module:\n" + "\n".join(f"    {line}" for line in text.strip().split("\n")))
    arrays = [tvms.nd.array(value, tvms.cuda()) for value in (*args, np.ones_like(expected))]
    tvms.compile(module, target=hopper)["main"](*arrays)
    assert np.array_equal(arrays[-1].numpy(), expected)


@pytest.mark.parametrize("name", PROGRAMS)
def test_clusters_and_roles(hopper: str, name: str) -> None:
    """Blocks of a cluster run together, their ranks are those of the mask, and some threads of a block wait for others."""
    a, c = arguments(name)
    arrays = [tvms.nd.array(value, tvms.cuda()) for value in (a, c)]
    tvms.compile(module(PROGRAMS[name][0]), target=hopper)["main"](*arrays)
    assert np.array_equal(arrays[-1].numpy(), expected(name))


@pytest.mark.parametrize("copies", ["threads", "boxes", "roles"])
@pytest.mark.parametrize("size", [(128, 256, 64), (200, 328, 136), (512, 1024, 2048), (2048, 4096, 512)], ids=str)
@pytest.mark.parametrize("layouts", ["nn", "nt", "tn", "tt"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_products_of_warpgroups(hopper: str, size: tuple[int, int, int], layouts: str, dtype: str, copies: str) -> None:
    m, n, k = size
    a, b = array((m, k), dtype, 1), array((k, n), dtype, 2)
    args = [np.ascontiguousarray(x.T if turn == "t" else x) for x, turn in zip((a, b), layouts, strict=True)]
    chosen = f'S.warpgroup_tiles(S.get_block("C"), rows=128, columns=256, copies="{copies}")'
    program = tvms.parse(
        f'{product(m, n, k, dtype, layouts)}\n    S.schedule chosen(main, target="cuda"):\n        {chosen}\n'
    )
    found = on_gpu(program, hopper, args, (m, n))
    assert np.array_equal(found, a.astype(np.float32) @ b.astype(np.float32))


# --- Attention ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "sizes", [(1, 1000, 1000, 4, 4, 64), (2, 128, 777, 4, 2, 128), (1, 1, 2048, 8, 1, 64)], ids=str
)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_attention(sizes: Sizes, dtype: str) -> None:
    args, expected = inputs(sizes, dtype, 1.0)
    arrays = [tvms.nd.array(value, tvms.cuda()) for value in (*args, np.zeros(expected.shape, args[0].dtype))]
    tvms.compile(program(sizes, dtype), target=f"cuda -arch={find_driver().arch}")["main"](*arrays)
    assert error(arrays[-1].numpy(), expected, 1.0) <= 1
