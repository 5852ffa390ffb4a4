"""Products of warpgroups: layouts against a model of their own, interpreter = simulation = NumPy, mistakes are found."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tvms
from gpu.warpgroup_programs import DEEP, LAYOUTS, NUMPY, PTX, STEPS, array, deep_product, one_product
from tvms.codegen.build import Settings
from tvms.codegen.gpu.ptxas import assemble, find_ptxas
from tvms.codegen.gpu.races import find_races
from tvms.ir.base import IRModule
from tvms.ir.interp import run
from tvms.ir.warpgroups import Tile


def module(text: str) -> IRModule:
    return tvms.parse("I.ir_module Module:\n" + "\n".join(f"    {line}" for line in text.strip().split("\n")))


def everywhere(program: IRModule, *args: Any) -> Any:
    """Return what the last argument is afterwards, which must be the same interpreted and simulated in three orders."""
    run(program, "main", [*args[:-1], expected := args[-1].copy()], track=True)
    tvms.compile(program, target="cuda -simulate=each", level=0)["main"](*args[:-1], found := args[-1].copy())
    assert (found == expected).all()
    return expected


def assembled(program: IRModule) -> str:
    """Return the PTX of `program`, which assembles without spills and without a warning that products are serialized."""
    ptx, tool = tvms.emit(program, "ptx", "cuda -arch=sm_90a", Settings(bounds="trust")), find_ptxas()
    assert isinstance(ptx, str)
    if tool is not None:
        made = assemble(ptx, "sm_90a", tool)
        if "is not defined for option" not in made.problem:
            assert made.image, made.problem
            assert not made.warnings
            assert all(usage.spill_bytes == 0 == usage.stack_bytes for usage in made.usage.values())
    return ptx


# --- Layouts ------------------------------------------------------------------------------------------------------


@pytest.mark.deep(8)
@pytest.mark.parametrize("n", [8, 24, 64, 136, 256])
@pytest.mark.parametrize("layouts", LAYOUTS, ids="-".join)
def test_factors_lie_where_the_canonical_layouts_say(n: int, layouts: tuple[str, str]) -> None:
    dtype = "float16" if n % 16 else "bfloat16"
    text, args, expected = one_product(n, dtype, layouts)
    assert (everywhere(module(text), *args, np.zeros((64, n), np.float32)) == expected).all()
    ptx = assembled(module(text))
    turned = f"{int(layouts[0] == 'col')}, {int(layouts[1] == 'row')}"
    assert f"wgmma.mma_async.sync.aligned.m64n{n}k16.f32.{PTX[dtype].replace('fp', 'f')}" in ptx
    assert f"1, 1, 1, {turned};" in ptx
    assert ".shared .align 1024 " in ptx


@pytest.mark.parametrize(
    ("a", "b"), [*zip(DEEP, DEEP, strict=True), ("float8_e4m3fn", "float8_e5m2"), ("float8_e5m2", "float8_e4m3fn")]
)
@pytest.mark.parametrize("n", [8, 136])
def test_other_factors_are_contiguous_along_k(n: int, a: str, b: str) -> None:
    text, args, expected = deep_product(n, a, b)
    assert (everywhere(module(text), *args, np.zeros((64, n), np.float32)) == expected).all()
    assert not find_races(module(text), "main", [*args, np.zeros((64, n), np.float32)])
    k = 8 if a == "float32" else 32
    ptx = assembled(module(text))
    assert f"wgmma.mma_async.sync.aligned.m64n{n}k{k}.f32.{DEEP[a]}.{DEEP[b]}" in ptx
    assert "1, 1, 1;" in ptx


UNKNOWN = {
    "bytes along their span": ('"row", "col", "e4m3"', '"col", "col", "e4m3"'),
    "bytes and halves": ('"e4m3", "fp32"', '"fp16", "fp32"'),
    "a depth of halves": ("k32", "k16"),
    "bytes into halves": ('"fp32", a', '"fp16", a'),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_other_products_do_not_exist(name: str) -> None:
    text, _, _ = deep_product(8, "float8_e4m3fn", "float8_e4m3fn")
    old, new = UNKNOWN[name]
    assert old in text
    with pytest.raises(tvms.TvmsError) as caught:
        tvms.emit(module(text.replace(old, new)), "ptx", "cuda -arch=sm_90a")
    (found,) = caught.value.diagnostics
    assert found.code == "E0606"
    assert found.message.startswith("no warpgroup multiplies m64n8k")


@pytest.mark.parametrize(("leading", "stride"), [(0, 1024), (8192, 1024), (16, 2048), ((1 << 18) - 16, 64)])
def test_descriptors_have_the_fields_of_the_ptx_isa(leading: int, stride: int) -> None:
    found = Tile(64, True, leading, stride).descriptor
    fields = {"start": (0, 14), "leading": (16, 14), "stride": (32, 14), "base": (49, 3), "swizzle": (62, 2)}
    read = {name: found >> first & (1 << bits) - 1 for name, (first, bits) in fields.items()}
    assert read == {"start": 0, "leading": leading // 16, "stride": stride // 16, "base": 0, "swizzle": 1}
    assert sum(read[name] << first for name, (first, _) in fields.items()) == found


# --- A product through a pipeline ---------------------------------------------------------------------------------


def steps(dtype: str = "float16", *changes: tuple[str, str]) -> IRModule:
    text = STEPS.format(dtype=dtype, kind=PTX[dtype], a_size=16384, b_size=8192)
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return module(text)


def arguments(dtype: str) -> list[Any]:
    return [array((128, 256), dtype, 1), array((256, 64), dtype, 2), np.zeros((128, 64), np.float32)]


@pytest.mark.deep(2)
@pytest.mark.parametrize("dtype", NUMPY)
def test_two_warpgroups_share_stages(dtype: str) -> None:
    a, b, c = arguments(dtype)
    assert (everywhere(steps(dtype), a, b, c) == a.astype(np.float32) @ b.astype(np.float32)).all()
    assert not find_races(steps(dtype), "main", [a, b, c])
    ptx = assembled(steps(dtype))
    assert "fence.proxy.async.shared::cta;" in ptx
    assert ".extern .shared .align 1024 " in ptx


PROXY = "            T.ptx_fence_proxy_async()\n"
FIRST_BARRIER = '            T.ptx_fence_proxy_async()\n            T.tvm_storage_sync("shared")\n'
LAST_BARRIER = '            T.ptx_wgmma_wait_group(0)\n            T.tvm_storage_sync("shared")\n'
WAIT = "            T.ptx_wgmma_wait_group(0)\n"
FENCE = "            T.ptx_wgmma_fence()\n"
SET = "    for i in range(32):\n        c_1[i] = T.float32(0)\n"
PLANTED: dict[str, tuple[list[tuple[str, str]], str]] = {
    "no fence of memory": (
        [(PROXY, "")],
        "T.ptx_wgmma_mma_async reads element 0 of 'a', which thread 0 wrote without T.ptx_fence_proxy_async",
    ),
    "no barrier before products": (
        [(FIRST_BARRIER, PROXY)],
        "threads 1 and 0 of a block race on element 8 of 'a': one writes it, the other reads it, without a barrier between",
    ),
    "no barrier after products": (
        [(LAST_BARRIER, WAIT)],
        "threads 1 and 0 of a block race on element 0 of 'b': one reads it, the other writes it, without a barrier between",
    ),
    "no wait for products": (
        [(WAIT, ""), ("    for i in range(32):\n        C[", "    T.ptx_wgmma_wait_group(0)\n    for i in range(32):\n        C[")],
        "threads 1 and 0 of a block race on element 8 of 'a': one writes it, the other reads it, without a barrier between",
    ),
    "a wait for too few products": (
        [("T.ptx_wgmma_wait_group(0)", "T.ptx_wgmma_wait_group(1)")],
        "thread 0 reads 'c_1' before T.ptx_wgmma_wait_group has waited for the product that changes it",
    ),
    "no fence behind a store": (
        [(FENCE, ""), (SET, "    T.ptx_wgmma_fence()\n" + SET)],
        "T.ptx_wgmma_mma_async adds to 'c', which thread 0 has changed, without T.ptx_wgmma_fence between",
    ),
}  # fmt: skip


@pytest.mark.deep(6)
@pytest.mark.parametrize("name", PLANTED)
def test_planted_mistakes_are_found(name: str) -> None:
    changes, message = PLANTED[name]
    found = find_races(steps("float16", *changes), "main", arguments("float16"))
    assert message in [problem.message for problem in found], [problem.message for problem in found]
    assert all(problem.code == "E0723" and problem.notes and problem.help for problem in found)


def test_accumulators_are_uninitialized_until_they_are_waited_for() -> None:
    early = steps("float16", ("T.ptx_wgmma_wait_group(0)", "T.ptx_wgmma_wait_group(1)"))
    with pytest.raises(tvms.TvmsError) as caught:
        run(early, "main", arguments("float16"), track=True)
    assert caught.value.diagnostics[0].code == "E0710"
    tvms.compile(early, target="cuda -simulate=ascending", level=0)["main"](*(given := arguments("float16")))
    assert np.isnan(given[-1]).all()
    stored = steps("float16", (WAIT, "            c_1[0] = T.float32(1)\n" + WAIT))
    with pytest.raises(tvms.TvmsError) as caught:
        run(stored, "main", arguments("float16"))
    assert caught.value.diagnostics[0].message == (
        "'c' is accessed before T.ptx_wgmma_wait_group has waited for the product that changes it"
    )


REFUSED: dict[str, tuple[tuple[str, str], str, str]] = {
    "a shape that no GPU has": (("m64n64k16", "m64n60k16"), "E0606", "no warpgroup multiplies m64n60k16 of row fp16 and row fp16 into fp32"),
    "another dtype": (('"fp16", "fp16", "fp32"', '"fp16", "bf16", "fp32"'), "E0606", "no warpgroup multiplies m64n64k16 of row fp16 and row bf16 into fp32"),
    "a distance": (("c, 0, 0, 1024", "c, 0, 0, 1000"), "E0606", "argument 14 of T.ptx_wgmma_mma_async is 1000 bytes"),
    "memory of a thread": (("b, (step - 1) % 2 * 4096 + k * 1024", "c, k * 1024"), "E0606", "T.ptx_wgmma_mma_async needs memory of scope 'shared', but 'c' is in 'local'"),
    "an element between lines": (("+ k * 16, b", "+ k * 4, b"), "E0606", "the factor in 'a' is not proven to start at a multiple of 16 bytes"),
    "no fence": ((FENCE, ""), "E0606", "a kernel with T.ptx_wgmma_mma_async never calls T.ptx_wgmma_fence"),
    "no wait": ((WAIT, ""), "E0606", "a kernel with T.ptx_wgmma_mma_async never calls T.ptx_wgmma_wait_group"),
    "a negative number of groups": ((WAIT, WAIT.replace("0", "-1")), "E0606", "cannot wait for -1 pending groups"),
    "half a warpgroup": (('"threadIdx.x", 256', '"threadIdx.x", 192'), "E0611", "T.ptx_wgmma_mma_async needs whole warpgroups of 128 threads, but a block has 192"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_is_refused_where_it_stands(name: str) -> None:
    change, code, message = REFUSED[name]
    with pytest.raises(tvms.TvmsError) as caught:
        tvms.emit(steps("float16", change), "ptx", "cuda -arch=sm_90a")
    (found,) = caught.value.diagnostics
    assert (found.code, found.message) == (code, message)
    assert found.span is not None
    assert found.help


@pytest.mark.parametrize("arch", ["sm_80", "sm_90", "sm_100"])
def test_only_hopper_has_them(arch: str) -> None:
    with pytest.raises(tvms.TvmsError) as caught:
        tvms.emit(steps(), "ptx", f"cuda -arch={arch}")
    assert caught.value.diagnostics[0].code == "E0602"
    assert any(
        problem.message == f"products of warpgroups need sm_90a; the target is {arch}" for problem in caught.value.diagnostics
    ) or arch == "sm_80"  # fmt: skip


def test_fences_without_products_are_simulated() -> None:
    program = module("""
T.prim_func main(A: T.Buffer((128,), "float32"), B: T.Buffer((128,), "float32")):
    tx = T.launch_thread("threadIdx.x", 128)
    s = T.allocate([128], "float32", "shared")
    s_1 = T.Buffer((128,), "float32", data=s, scope="shared")
    s_1[tx] = A[tx]
    T.ptx_fence_proxy_async()
    T.tvm_storage_sync("shared")
    B[tx] = s_1[127 - tx]
""")
    a = np.arange(128, dtype=np.float32)
    assert (everywhere(program, a, np.zeros_like(a)) == a[::-1]).all()


def test_threads_that_are_missing() -> None:
    program = steps("float16", ("        if step > 0:\n", "        if step > 0 and tx < 250:\n"))
    with pytest.raises(tvms.TvmsError) as caught:
        run(program, "main", arguments("float16"))
    assert caught.value.diagnostics[0].code == "E0714"


def test_elements_outside_of_the_allocation() -> None:
    program = steps("float16", ("tx // 128 * 4096 + k * 16, b", "tx // 128 * 8192 + k * 16, b"))
    with pytest.raises(tvms.TvmsError) as caught:
        run(program, "main", arguments("float16"))
    assert caught.value.diagnostics[0].code == "E0707"
    with pytest.raises(tvms.TvmsError) as caught:
        tvms.compile(program, target="cuda -simulate=ascending", level=0)["main"](*arguments("float16"))
    assert caught.value.diagnostics[0].code == "E0707"
