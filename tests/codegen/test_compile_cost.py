"""Compiling takes work in proportion to the program, and gives LLVM no function that grows with it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
import tvms
import tvms.codegen.build
from tvms.codegen.aot import lowered
from tvms.codegen.build import Settings, build, lower_module, prepare
from tvms.codegen.lower import Bounds, lower_blocks
from tvms.codegen.target import get_target
from tvms.dsl.testing.growth import check_growth
from tvms.ir.base import IRModule
from tvms.ir.deep import run_with_big_stack

HEAD = 'T.prim_func f(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):\n'
LOOP = HEAD + "    for i in range(64):\n"


def _chain(size: int) -> str:
    lines = "".join(f'    W{k} = T.alloc_buffer((64,), "float32")\n' for k in range(size))
    for k in range(size):
        source = f"W{k - 1}" if k else "A"
        lines += f'    for i in range(64):\n        with T.block("b{k}"):\n            v = T.axis.spatial(64, i)\n'
        lines += f"            W{k}[v] = {source}[v] * A[v] + T.float32({k})\n"
    return HEAD + lines


def _nest(size: int) -> str:
    lines = "".join(f"{' ' * (k + 1)}for i{k} in range(2):\n" for k in range(size))
    return f"{HEAD}{lines}{' ' * (size + 1)}B[i{size - 1}] = A[i0]\n"


def _lets(size: int, is_chain: bool) -> str:
    lines = "".join(
        f"    x{k}: T.float32 = A[{k % 64}] + {f'x{k - 1}' if is_chain and k else 'A[0]'}\n" for k in range(size)
    )
    last = f"x{size - 1}" if is_chain else " + ".join(f"x{k}" for k in range(size))
    return f"{HEAD}{lines}    B[0] = {last}\n"


TEXTS: dict[str, Callable[[int], str]] = {
    "statements": lambda size: HEAD + "".join(f"    B[{k % 64}] = A[{k % 64}]\n" for k in range(size)),
    "loops": lambda size: (
        HEAD + "".join(f"    for i{k} in range(64):\n        B[i{k}] = A[i{k}]\n" for k in range(size))
    ),
    "product": lambda size: f"{LOOP}        B[i] = {' * '.join('A[i]' for _ in range(size))}\n",
    "and": lambda size: (
        f"{LOOP}        if {' and '.join(f'A[i] < T.float32({k})' for k in range(size))}:\n            B[i] = A[i]\n"
    ),
    "chain of blocks": _chain,
    "choices": lambda size: f"{HEAD}    B[0] = {'T.if_then_else(A[0] > A[1], A[1], ' * size}A[0]{')' * size}\n",
    "nest of loops": _nest,
    "chain of lets": lambda size: _lets(size, True),
    "lets used last": lambda size: _lets(size, False),
}


def _compile(module: IRModule) -> str:
    target = get_target("llvm")
    return build(prepare(module, target), target, Settings()).emitted.text


@pytest.mark.deep(3)
@pytest.mark.parametrize("name", TEXTS)
def test_work_is_linear(name: str) -> None:
    check_growth(_compile, 32, lambda size: tvms.parse(TEXTS[name](size)))


GPU_HEAD = 'T.prim_func f(A: T.Buffer((64,), "int32"), B: T.Buffer((64,), "int32")):\n'
GPU_TEXTS: dict[str, Callable[[int], str]] = {
    "calls": lambda size: f"{GPU_HEAD}    B[0] = {'~' * size}A[0]\n",
    "statements": lambda size: GPU_HEAD + "".join(f"    B[{k % 64}] = ~A[{k % 64}]\n" for k in range(size)),
    "choices": lambda size: f"{GPU_HEAD}    B[0] = {'T.if_then_else(A[0] > 1, A[1], ' * size}A[0]{')' * size}\n",
    "conditions": lambda size: (
        GPU_HEAD
        + "".join(f"{' ' * (k + 4)}if A[{k % 64}] > {k}:\n" for k in range(size))
        + f"{' ' * (size + 4)}B[0] = 1\n"
    ),
}


def test_loops_around_hoisted_branches_are_not_copied_again_and_again() -> None:
    """Each `else` ends up in as many loops as there are around it, so the text has a character for about each of them."""

    def nest(size: int, indent: str) -> str:
        store = f"{indent}B[0] = A[0]\n"
        if not size:
            return store
        inner = nest(size - 1, indent + "  ")
        return f"{indent}for i{size} in range(2):\n{indent} if n < {size}:\n{inner}{indent} else:\n  {store}"

    def text(size: int) -> str:
        return HEAD.replace("T.prim_func f(", "T.prim_func f(n: T.int32, ") + nest(size, "    ")

    check_growth(_compile, 12, lambda size: tvms.parse(text(size)), lambda size: len(text(size)))


@pytest.mark.deep(4)
@pytest.mark.parametrize("name", GPU_TEXTS)
def test_work_for_a_gpu_is_linear(name: str) -> None:
    check_growth(lambda module: lowered(module, "cuda"), 64, lambda size: tvms.parse(GPU_TEXTS[name](size)))


@pytest.mark.deep(3)
@pytest.mark.parametrize(("name", "size"), [("statements", 6000), ("loops", 600), ("product", 6000)])
def test_no_function_is_huge(name: str, size: int) -> None:
    text = run_with_big_stack(lambda: _compile(tvms.parse(TEXTS[name](size))))
    longest = max(part.count("\n") for part in re.split(r"^define ", text, flags=re.MULTILINE))
    assert text.count("\n") > 8_000
    assert longest < 4_000


TILED = """
I.ir_module Module:
    T.prim_func f(A: T.Buffer((64, 64), "float32"), B: T.Buffer((64, 64), "float32"), C: T.Buffer((64, 64), "float32")):
        for i, j, k in T.grid(64, 64, 64):
            with T.block("product"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]

    S.schedule tiled(f):
        product = S.get_block("product")
        i, j, k = S.get_loops(product)
        j0, j1 = S.split(j, factors=[None, 16])
        S.reorder(j0, i, k, j1)
        S.vectorize(j1)
        S.decompose_reduction(product, i)
"""


@pytest.mark.parametrize(("bounds", "times"), [("prove", 1), ("check", 2)])
def test_written_schedules_are_lowered_again_only_to_compare_checks(
    bounds: Bounds, times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    lowered_functions: list[object] = []

    def recorded(*arguments: Any) -> Any:
        lowered_functions.append(arguments[0])
        return lower_blocks(*arguments)

    monkeypatch.setattr(tvms.codegen.build, "lower_blocks", recorded)
    target = get_target("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=haswell")
    module = prepare(tvms.parse(TILED), target)
    lower_module(module, target, Settings(bounds=bounds))
    assert len(lowered_functions) == times
