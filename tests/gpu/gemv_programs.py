"""Products of few rows with a matrix, which may be packed integers with a scale for each group of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec import Struct
from tvms.ir import tir
from tvms.ir.numpy_dtype import numpy_dtype


class Weights(Struct, frozen=True):
    """A matrix of `words`: `pack` numbers in each, with a scale of dtype `scale` for each `group` of them; without `group`, the words are
    the elements. `is_turned` means that it lies column by column.
    """

    words: str
    scale: str = "float16"
    pack: int = 1
    group: int = 0
    is_turned: bool = False

    def shape(self, n: int, k: int, pack: int) -> tuple[int, int]:
        return (k // pack, n) if self.is_turned else (n, k // pack)

    def at(self, name: str, pack: int) -> str:
        depth = f"vk // {pack}" if pack > 1 else "vk"
        return f"{name}[{depth}, vj]" if self.is_turned else f"{name}[vj, {depth}]"

    @property
    def element(self) -> str:
        """Return the element at `vj, vk`."""
        word, dtype = self.at("W", self.pack), self.scale
        if self.pack > 1:
            bits = (32 if self.words == "uint32" else 8) // self.pack
            shifted = f'T.shift_right({word}, T.Cast("{self.words}", vk % {self.pack} * {bits}))'
            masked = f"T.bitwise_and({shifted}, T.{self.words}({(1 << bits) - 1}))"
            return f'(T.Cast("{dtype}", {masked}) - T.{dtype}({1 << bits - 1})) * {self.at("S", self.group)}'
        return f'T.Cast("{dtype}", {word}) * {self.at("S", self.group)}'


HALF = Weights("float16")
INT4 = Weights("uint32", "float16", 8, 32)


def gemv(
    sizes: tuple[int, int, int], weights: Weights = INT4, result: str = "float16", has_epilogue: bool = False
) -> str:
    """Return a function that computes Y = X @ Wᵀ of m × n and depth k, or its SiLU after a bias."""
    (m, n, k), dtype, out = sizes, weights.scale, "P" if has_epilogue else "Y"
    product = f"X[vi, vk] * {weights.at('D' if weights.group else 'W', 1)}"
    if dtype != result:
        product = " * ".join([f'T.Cast("{result}", {factor})' for factor in product.split(" * ")])
    scales = f'S: T.Buffer({weights.shape(n, k, weights.group)}, "{dtype}"), ' if weights.group else ""
    lines = [
        f'T.prim_func main(W: T.Buffer({weights.shape(n, k, weights.pack)}, "{weights.words}"), {scales}X: T.Buffer(({m}, {k}), "{dtype}"), '
        f'B: T.Buffer(({n},), "{result}"), Y: T.Buffer(({m}, {n}), "{result}")):',
        '    T.func_attr({"tir.noalias": True})',
    ]
    if weights.group:
        lines += [f'    D = T.alloc_buffer({weights.shape(n, k, 1)}, "{dtype}")']
    if has_epilogue:
        lines += [f'    P = T.alloc_buffer(({m}, {n}), "{result}")', f'    Q = T.alloc_buffer(({m}, {n}), "{result}")']
    if weights.group:
        lines += [
            f"    for j, l in T.grid({n}, {k}):",
            '        with T.block("decode"):',
            '            vj, vk = T.axis.remap("SS", [j, l])',
            f"            {weights.at('D', 1)} = {weights.element}",
        ]
    lines += [
        f"    for i, j, l in T.grid({m}, {n}, {k}):",
        '        with T.block("matmul"):',
        '            vi, vj, vk = T.axis.remap("SSR", [i, j, l])',
        "            with T.init():",
        f"                {out}[vi, vj] = T.{result}(0)",
        f"            {out}[vi, vj] = {out}[vi, vj] + {product}",
    ]
    steps = (("bias", "Q", "P[vi, vj] + B[vj]"), ("silu", "Y", "Q[vi, vj] * T.sigmoid(Q[vi, vj])"))
    for name, target, value in steps if has_epilogue else ():
        lines += [
            f"    for i, j in T.grid({m}, {n}):",
            f'        with T.block("{name}"):',
            '            vi, vj = T.axis.remap("SS", [i, j])',
            f"            {target}[vi, vj] = {value}",
        ]
    return "\n".join(lines) + "\n"


SCORES = """T.prim_func main(Q: T.Buffer((1, 4, 1, 64), "float16"), k: T.handle, s: T.handle):
    n = T.int64()
    K = T.match_buffer(k, (1, 4, n, 64), "float16")
    S = T.match_buffer(s, (1, 4, 1, n), "float32")
    for b, h, i, j, l in T.grid(1, 4, 1, n, 64):
        with T.block("scores"):
            vb, vh, vi, vj, vk = T.axis.remap("SSSSR", [b, h, i, j, l])
            with T.init():
                S[vb, vh, vi, vj] = T.float32(0)
            S[vb, vh, vi, vj] = S[vb, vh, vi, vj] + T.Cast("float32", Q[vb, vh, vi, vk] * K[vb, vh, vj, vk])
"""
"""The scores of one query against `n` keys, for each head."""


def arguments(function: tir.PrimFunc, seed: int = 0, sizes: dict[str, int] | None = None) -> list[Any]:
    """Return random arguments; integers have all bits."""
    random, found = np.random.default_rng(seed), list[Any]()
    for param in function.params:
        buffer = function.buffer_map[param]
        shape = [(sizes or {})[size.name] if isinstance(size, tir.Var) else int(size.value) for size in buffer.shape]
        dtype = numpy_dtype(buffer.dtype)
        if dtype.kind in "iu":
            found.append(random.integers(0, 256, (*shape, dtype.itemsize), np.uint8).view(dtype)[..., 0])
        else:
            found.append((random.standard_normal(shape) * 0.25).astype(dtype))
    return [np.ascontiguousarray(value) for value in found]
