"""Planned memory is hardly larger than what is alive at once, on a multilayer perceptron and on a transformer block."""

from __future__ import annotations

import pytest
import tvms
from tvms import relax
from tvms.dsl.cli.opt_command import parse_passes
from tvms.ir.base import Op
from tvms.ir.passes.allocation import Tensor, find_tensors
from tvms.ir.passes.transform import PassContext, Sequential, get_pass

LOWER = "Normalize, LegalizeOps, RewriteDataflowReshape, CallTIRRewrite"


def perceptron(layers: int = 12, rows: int = 8, width: int = 16) -> str:
    sizes = [width * (1 + 3 * (number % 2)) for number in range(layers + 1)]
    params = "".join(f', w{n}: R.Tensor({sizes[n], sizes[n + 1]}, "float32")' for n in range(layers))
    lines = [f"x{n + 1} = R.nn.relu(R.matmul(x{n}, w{n}))" for n in range(layers)]
    return function(f'x0: R.Tensor(({rows}, {width}), "float32"){params}', lines, f"x{layers}")


def transformer(length: int = 16, width: int = 16, heads: int = 4) -> str:
    names = {"q": width, "k": width, "v": width, "o": width, "up": 4 * width}
    params = "".join(f', w{name}: R.Tensor(({width}, {size}), "float32")' for name, size in names.items())
    params += f', down: R.Tensor(({4 * width}, {width}), "float32"), g: R.Tensor(({width},), "float32")'
    split = f"R.shape([1, {length}, {heads}, {width // heads}])"
    lines = ["n = R.nn.layer_norm(x, g, g, axes=[-1])"]
    lines += [f"{a} = R.permute_dims(R.reshape(R.matmul(n, w{a}), {split}), axes=[0, 2, 1, 3])" for a in "qkv"]
    lines += [
        "scores = R.matmul(q, R.permute_dims(k, axes=[0, 1, 3, 2]))",
        'weights = R.nn.softmax(R.multiply(scores, R.const(0.5, "float32")))',
        "heads = R.permute_dims(R.matmul(weights, v), axes=[0, 2, 1, 3])",
        f"joined = R.matmul(R.reshape(heads, R.shape([1, {length}, {width}])), wo)",
        "r = R.add(joined, x)",
        "out = R.add(R.matmul(R.nn.gelu(R.matmul(R.nn.layer_norm(r, g, g, axes=[-1]), wup)), down), r)",
    ]
    return function(f'x: R.Tensor((1, {length}, {width}), "float32"){params}', lines, "out")


def function(params: str, lines: list[str], result: str) -> str:
    body = "".join(f"            {line}\n" for line in lines)
    head = f"I.ir_module Module:\n    R.function main({params}):\n        with R.dataflow():\n"
    return f"{head}{body}            gv = R.negative({result})\n            R.output(gv)\n        return gv\n"


def bytes_of(tensor: Tensor) -> int:
    return tensor.size.value  # type: ignore[attr-defined]


def most_alive(lowered: tvms.IRModule) -> tuple[int, int]:
    """The most bytes that are alive at once, and those of all tensors, of those that can be planned."""
    main = lowered["main"]
    planned = {call: tensor for call, tensor in find_tensors(main, lowered).items() if not tensor.escapes}  # type: ignore[arg-type]
    alive, most = 0, 0
    for block in main.body.blocks:  # type: ignore[attr-defined]
        for binding in block.bindings:
            alive += bytes_of(planned[binding.value]) if binding.value in planned else 0
            most = max(most, alive)
            alive -= sum(bytes_of(tensor) for tensor in planned.values() if tensor.last_use is binding)
    return most, sum(map(bytes_of, planned.values()))


@pytest.mark.parametrize("pack", [True, False])
@pytest.mark.parametrize("text", [perceptron(), transformer()], ids=["perceptron", "transformer"])
def test_planned_memory_is_little_more_than_what_is_alive(text: str, pack: bool) -> None:
    with PassContext(opt_level=3):
        lowered = Sequential(parse_passes(LOWER))(tvms.parse(text))
        planned = get_pass("StaticPlanBlockMemory", pack)(lowered)
    assert not tvms.verify(planned)
    calls = [binding.value for block in planned["main"].body.blocks for binding in block.bindings]
    storages = [call for call in calls if getattr(call, "op", None) == Op("relax.memory.alloc_storage")]
    used = sum(call.args[0].values[0].value for call in storages)
    most, together = most_alive(lowered)
    assert used <= most * (1.05 if pack else 1.25)
    assert most * 3 < together


def test_what_planning_saves_is_told() -> None:
    lowered = Sequential(parse_passes(LOWER))(tvms.parse(perceptron(layers=4)))
    planned = get_pass("StaticPlanBlockMemory")(lowered)
    before, after = (relax.analysis.estimate_memory_usage(mod) for mod in (lowered, planned))
    counted, planning = "constant-size memory allocation(s) with total size", "With memory planning, there are"
    first = (
        f"Memory usage estimation:\n- Function main:\n * Without memory planning, there are 9 {counted} 1.001e-05 GB.\n"
    )
    rest = f" * {planning} 9 {counted} 1.001e-05 GB.\n * Memory planning reduces constant memory size to 100.0%.\n"
    assert before == first + rest
    rest = f" * {planning} 3 {counted} 4.292e-06 GB.\n * Memory planning reduces constant memory size to 42.9%.\n"
    assert after == first + rest
