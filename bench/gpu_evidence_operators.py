"""More parts of `bench/gpu_evidence.py`: graph operators, int8 products, products of few rows, attention and ResNet-18, compared with torch
if it is installed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import tvms
from gpu_evidence_parts import Machine, Row, is_close, on_host
from msgspec import Struct

SAMPLES = Path(__file__).parents[1] / "samples"
GRAPH = """I.ir_module Module:
    R.function main({parameters}):
        y = {call}
        return y
"""


class Operator(Struct, frozen=True):
    """An operator call with arguments of the given shapes, and the same computation in NumPy and in torch."""

    shapes: tuple[tuple[int, ...], ...]
    call: str
    expected: Callable[..., Any]
    torch: str
    dtype: str = "float32"


def _operators(n: int) -> dict[str, Operator]:
    return {
        "sum of a matrix": Operator(((n, n),), "R.sum(x)", lambda x: x.sum(), "x.sum()"),
        "sums of columns": Operator(((n * 256, 64),), "R.sum(x, axis=[0])", lambda x: x.sum(0), "x.sum(0)"),
        "sums of rows": Operator(((n, n),), "R.sum(x, axis=[1])", lambda x: x.sum(1), "x.sum(1)"),
        "argmax of rows": Operator(((n, n),), "R.argmax(x, axis=1)", lambda x: x.argmax(1), "x.argmax(1)"),
        "argmax of columns": Operator(((n, n),), "R.argmax(x, axis=0)", lambda x: x.argmax(0), "x.argmax(0)"),
        "running sums": Operator(((n, n),), "R.cumsum(x, axis=1)", lambda x: x.cumsum(1), "x.cumsum(1)"),
        "product of bytes": Operator(
            ((n, n), (n, n)), 'R.matmul(x, R.permute_dims(y), out_dtype="int32")',
            lambda x, y: x.astype(np.float32) @ y.astype(np.float32).T, "torch._int_mm(x, y.t())", "int8",
        ),
    }  # fmt: skip


def operators(machine: Machine) -> Iterator[Row]:
    """Measure operators on 4096 × 4096 elements; arguments are small whole numbers."""
    random = np.random.default_rng(0)
    for name, operator in _operators(machine.size(4096)).items():
        arrays = [random.integers(-8, 8, shape).astype(operator.dtype) for shape in operator.shapes]
        names = "xy"[: len(arrays)]
        tensors = [
            f"{x}: R.Tensor({shape}, '{operator.dtype}')" for x, shape in zip(names, operator.shapes, strict=True)
        ]
        text = GRAPH.format(parameters=", ".join(tensors).replace("'", '"'), call=operator.call)
        main, given = machine.compile(text)["main"], machine.arrays(*arrays)
        found = on_host(main(*given))
        spent = machine.milliseconds(lambda main=main, given=given: main(*given))
        row = {
            "operator": name,
            "shape": str(operator.shapes[0]),
            "ms": spent,
            **_beside_torch(machine, operator, arrays),
        }
        is_right = is_close(np.asarray(found), np.asarray(operator.expected(*(array.astype("f8") for array in arrays))))
        yield {**row, "correct": is_right}


def _beside_torch(machine: Machine, operator: Operator, arrays: list[Any]) -> Row:
    """Return the time of the operator in torch."""
    if machine.is_simulated or not find_spec("torch"):
        return {}
    torch: Any = __import__("torch")
    values = dict(zip("xy", [torch.from_numpy(array).cuda() for array in arrays], strict=False)) | {"torch": torch}
    code = compile(operator.torch, operator.torch, "eval")
    return {"torch ms": machine.milliseconds(lambda: eval(code, values))}


def attention(machine: Machine) -> Iterator[Row]:
    """Measure attention of 16 heads in float16, also with a causal mask; 32 rows of each head are compared with NumPy."""
    random = np.random.default_rng(0)
    for length, width, is_causal in product((1024, 4096), (64, 128), (False, True)):
        shape = (1, machine.size(length), 1 if machine.is_simulated else 16, width)
        arrays = [random.standard_normal(shape, np.float32).astype(np.float16) for _ in "qkv"]
        parameters = ", ".join(f'{name}: R.Tensor({shape}, "float16")' for name in "qkv")
        mask = ', causal_mask="TopLeft"' if is_causal else ""
        text = GRAPH.format(parameters=parameters, call=f"R.nn.attention(q, k, v{mask})")
        main, given = machine.compile(text)["main"], machine.arrays(*arrays)
        found = on_host(main(*given))[0, :32]
        spent = machine.milliseconds(lambda main=main, given=given: main(*given))
        q, k, v = (np.moveaxis(array[0].astype(np.float32), 1, 0) for array in arrays)
        power = np.exp(q[:, :32] @ k.swapaxes(1, 2) / np.sqrt(width))
        power *= np.tri(*power.shape[1:]) if is_causal else 1
        expected = np.moveaxis(power / power.sum(2, keepdims=True) @ v, 0, 1)
        row = {
            "length": shape[1],
            "heads": shape[2],
            "width": width,
            "mask": "causal" if is_causal else "none",
            "ms": spent,
        }
        row["TFLOP/s"] = (2e-9 if is_causal else 4e-9) * shape[1] ** 2 * shape[2] * width / spent
        yield {
            **row,
            **_attention_by_torch(machine, arrays, is_causal),
            "correct": is_close(found, expected, "float16"),
        }


def _attention_by_torch(machine: Machine, arrays: list[Any], is_causal: bool) -> Row:
    """Return the time of torch's own choice of a backend."""
    if machine.is_simulated or not find_spec("torch"):
        return {}
    torch: Any = __import__("torch")
    tensors = [torch.from_numpy(array).cuda().transpose(1, 2).contiguous() for array in arrays]
    compute = torch.nn.functional.scaled_dot_product_attention
    return {"torch ms": machine.milliseconds(lambda: compute(*tensors, is_causal=is_causal))}


def resnet18(machine: Machine) -> Iterator[Row]:
    """Run ResNet-18 for one image, with weights on the GPU, launch by launch and as a CUDA graph, and compare with the code for processors."""
    if machine.is_simulated:
        return
    module = tvms.load(SAMPLES / "12_resnet18.tvms")
    random = np.random.default_rng(0)
    arrays = []
    for parameter in module["main"].params:
        shape = [int(extent.value) for extent in parameter.struct_info.shape]
        fan_in = int(np.prod(shape[1:])) or 1
        arrays.append((random.standard_normal(shape) / np.sqrt(fan_in)).astype(np.float32))
    given, expected = machine.arrays(*arrays), np.asarray(tvms.compile(module)["main"](*arrays))
    for has_graphs in (False, True):
        with tvms.transform.PassContext(config={"relax.backend.use_cuda_graph": has_graphs}):
            main = tvms.compile(module, target=machine.target)["main"]
        spent = machine.milliseconds(lambda main=main: main(*given))
        found = is_close(on_host(main(*given)), expected)
        yield {
            "network": "ResNet-18, one image", "CUDA graphs": ", ".join(map(str, main.cuda_graphs)), "ms": spent, "correct": found,
        }  # fmt: skip


PACKED = """T.prim_func main(W: T.Buffer(({n}, {n} // 8), "uint32"), S: T.Buffer(({n}, {n} // 32), "float16"), X: T.Buffer(({m}, {n}), "float16"), Y: T.Buffer(({m}, {n}), "float16")):
    D = T.alloc_buffer(({n}, {n}), "float16")
    for j, k in T.grid({n}, {n}):
        with T.block("decode"):
            vj, vk = T.axis.remap("SS", [j, k])
            D[vj, vk] = (T.Cast("float16", T.bitwise_and(T.shift_right(W[vj, vk // 8], T.Cast("uint32", vk % 8 * 4)), T.uint32(15))) - T.float16(8)) * S[vj, vk // 32]
    for i, j, k in T.grid({m}, {n}, {n}):
        with T.block("product"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                Y[vi, vj] = T.float16(0)
            Y[vi, vj] = Y[vi, vj] + X[vi, vk] * D[vj, vk]
"""


def few_rows(machine: Machine) -> Iterator[Row]:
    """Multiply 1, 4 and 16 rows by 4096 × 4096 weights of 4 bits, beside torch's product with weights in float16."""
    n, random = machine.size(4096), np.random.default_rng(0)
    words, scales = random.integers(0, 1 << 32, (n, n // 8), np.uint32), np.full((n, n // 32), 2.0**-8, np.float16)
    numbers = (words[..., None] >> np.arange(0, 32, 4, dtype=np.uint32) & 15).reshape(n, n).astype(np.float32) - 8
    for rows in (1, 4, 16):
        x = random.integers(-2, 3, (rows, n)).astype(np.float16)
        main, given = (
            machine.compile(PACKED.format(n=n, m=rows))["main"],
            machine.arrays(words, scales, x, np.zeros((rows, n), np.float16)),
        )
        main(*given)
        correct = is_close(on_host(given[-1]), x.astype(np.float32) @ numbers.T * 2.0**-8, "float16")
        spent = machine.milliseconds(lambda main=main, given=given: main(*given))
        yield {
            "rows": rows, "ms": spent, "GB/s": words.nbytes / spent / 1e6, "correct": correct,
            **_torch_product(machine, x, numbers.astype(np.float16)),
        }  # fmt: skip


def _torch_product(machine: Machine, x: Any, weights: Any) -> Row:
    if machine.is_simulated or find_spec("torch") is None:
        return {}
    import torch

    a, b = (torch.from_numpy(array).cuda() for array in (x, weights))
    return {"torch float16 ms": machine.milliseconds(lambda: a @ b.t())}


PARTS: dict[str, Callable[[Machine], Iterator[Row]]] = {
    "operators": operators, "products of few rows": few_rows, "attention": attention, "ResNet-18": resnet18,
}  # fmt: skip
