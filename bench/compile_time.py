"""Time to compile residual networks of 18 to 152 layers, cold and with a cache, and how it grows with the depth.

    python bench/compile_time.py [DEPTH ...]

Each network is compiled in a process of its own, which has imported tvms and built the module. `processor` is the time that all
threads worked, `wall` the time until `tvms.compile` returned. The stages are those of `Executable.stats`; `llvm` is what is
left of LLVM's work when the last kernel is emitted. Modules of tvms that are imported late come from bytecode, as in an installed
package, except in the first run of a checkout.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

BLOCKS = {18: (2, 2, 2, 2), 34: (3, 4, 6, 3), 50: (3, 4, 6, 3), 101: (3, 4, 23, 3), 152: (3, 8, 36, 3)}
"""The number of residual blocks of each stage (He et al., "Deep residual learning for image recognition", table 1)."""


def residual_network(depth: int) -> Any:
    """Return the module of a ResNet for one image of 224 × 224; its function is `main`, and the weights are arguments."""
    from tvms import relax
    from tvms.relax import op

    builder, weights = relax.BlockBuilder(), list[relax.Var]()

    def weight(*shape: int) -> relax.Var:
        weights.append(relax.Var(f"w{len(weights)}", relax.TensorStructInfo(shape, "float32")))
        return weights[-1]

    def convolution(x: Any, filters: int, window: int, stride: int = 1) -> Any:
        channels = int(x.struct_info.shape.values[1])
        padding = window // 2
        y = builder.emit(op.nn.conv2d(x, weight(filters, channels, window, window), stride, padding))
        factors = [weight(filters) for _ in range(4)]
        return builder.emit(op.nn.batch_norm(y, *factors, axis=1, training=False)[0])

    def relu(x: Any) -> Any:
        return builder.emit(op.nn.relu(x))

    def block(x: Any, filters: int, stride: int) -> Any:
        is_deep = depth >= 50
        width = 4 * filters if is_deep else filters
        if is_deep:
            y = relu(convolution(relu(convolution(x, filters, 1)), filters, 3, stride))
            y = convolution(y, width, 1)
        else:
            y = convolution(relu(convolution(x, filters, 3, stride)), filters, 3)
        same = stride == 1 and int(x.struct_info.shape.values[1]) == width
        return relu(builder.emit(op.add(y, x if same else convolution(x, width, 1, stride))))

    image = relax.Var("image", relax.TensorStructInfo((1, 3, 224, 224), "float32"))
    with builder.function("main"), builder.dataflow():
        x = relu(convolution(image, 64, 7, 2))
        x = builder.emit(op.nn.max_pool2d(x, (3, 3), 2, 1))
        for stage, count in enumerate(BLOCKS[depth]):
            for number in range(count):
                x = block(x, 64 << stage, 2 if number == 0 and stage else 1)
        x = builder.emit(op.mean(x, [2, 3]))
        result = builder.emit_output(op.matmul(x, weight(int(x.struct_info.shape.values[1]), 1000)))
        builder.emit_func_output(result, [image, *weights])
    return builder.get()


def measure(depth: int, cache: str) -> None:
    """Print the times of one network as JSON."""
    import tvms
    import tvms.codegen

    module = residual_network(depth)
    start, worked = time.perf_counter(), time.process_time()
    executable = tvms.compile(module, cache=cache)
    stats = {name: seconds for name, seconds in executable.stats.items() if name != "total"}
    print(json.dumps({"wall": time.perf_counter() - start, "processor": time.process_time() - worked, **stats}))


def main() -> None:
    """Print a line for each network, cold and warm."""
    depths = [int(word) for word in sys.argv[1:]] or list(BLOCKS)
    print(
        f"{'layers':>6}  {'cold: wall':>10} {'processor':>9} {'lower':>6} {'emit':>5} {'llvm':>5}  {'warm: wall':>10} {'processor':>9}"
    )
    for depth in depths:
        with tempfile.TemporaryDirectory() as cache:
            cold, warm = (_child(depth, cache) for _ in range(2))
        stages = " ".join(f"{cold[stage]:{width}.2f}" for stage, width in (("lower", 6), ("emit", 5), ("llvm", 5)))
        times = f"{warm['wall']:10.2f} {warm['processor']:9.2f}"
        print(f"{depth:6}  {cold['wall']:10.2f} {cold['processor']:9.2f} {stages}  {times}", flush=True)


def _child(depth: int, cache: str) -> dict[str, float]:
    command = [sys.executable, str(Path(__file__)), "--child", str(depth), cache]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        measure(int(sys.argv[2]), sys.argv[3])
    else:
        main()
