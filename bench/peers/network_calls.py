"""A peer of `bench/networks.py`: one system with one network in a process of its own.

    python network_calls.py KIND FOLDER THREADS WORD…

It prints facts as a line of JSON, then the seconds of one call for each line that it reads. The kinds `export` and `export-onnx`
write the network, its inputs and the result to expect into the folder, from which `cold` and `tvms` read them.
"""

from __future__ import annotations

import json
import resource
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

WINOGRAD = " with Winograd"
"""Suffix of a network whose convolutions tvms computes by Winograd's algorithm, with tiles of 4."""
MEASURED = 0.05
"""Seconds of one measurement, unless a single call takes longer."""
WARM_CALLS = 8
Call = Callable[[], Any]


def network(name: str, batch: int) -> tuple[Any, ...]:
    """Return a model of torch in evaluation mode, and its inputs."""
    import torch

    sys.path.insert(0, str(Path(__file__).parents[2] / "tests" / "importers"))
    import torch_models as models
    from torch import nn

    torch.manual_seed(0)
    torch.set_grad_enabled(False)
    image = torch.randn(batch, 3, 224, 224)
    layers = [layer for _ in range(12) for layer in (nn.Linear(512, 512), nn.ReLU())]
    made: dict[str, Callable[[], tuple[Any, ...]]] = {
        "resnet18": lambda: (models.ResNet(), image),
        "mobilenetv2": lambda: (models.MobileNetV2(), image),
        "vit-b16": lambda: (models.ViT(), image),
        "bert-base": lambda: (
            models.BERT(), torch.randint(0, 30000, (batch, 128)), torch.ones(batch, 128, dtype=torch.int64)
        ),
        "unet": lambda: (models.UNet(32), torch.randn(batch, 3, 128, 128)),
        "perceptron": lambda: (
            nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 10, bias=False)), torch.randn(batch, 784)
        ),
        "mlp12": lambda: (nn.Sequential(*layers), torch.randn(batch, 512)),
        "blocks": lambda: (nn.Sequential(*[models.Block(256, 4, False) for _ in range(4)]), torch.randn(batch, 64, 256)),
    }  # fmt: skip
    model, *inputs = made[name.removesuffix(WINOGRAD)]()
    return model.eval(), *inputs


def export(folder: Path, name: str, batch: str) -> None:
    """Write a network as `main.tvms`, its inputs and torch's first result."""
    import torch
    import tvms
    from tvms import relax
    from tvms.relax.frontend.torch import from_exported_program

    model, *inputs = network(name, int(batch))
    module = from_exported_program(torch.export.export(model, tuple(inputs)))
    if name.endswith(WINOGRAD):
        transform = relax.transform
        passes = [transform.FoldBatchnormToConv2D(), transform.FoldConstant(), transform.WinogradConv2D(4)]
        module = tvms.transform.Sequential([*passes, transform.FoldConstant()])(module)
    tvms.save(module, folder / "main.tvms")
    result = model(*inputs)
    result = result[0] if isinstance(result, tuple) else result
    np.savez(folder / "arrays.npz", result.numpy(), *[value.numpy() for value in inputs])


def tvms_call(folder: Path, threads: int, kind: str) -> tuple[Call, dict[str, float]]:
    """Return a call of the network in the folder, and the time to compile it: `kind` is "cold" for the first time, then
    "warm".
    """
    import tvms

    with np.load(folder / "arrays.npz") as given:
        wanted, *arrays = (given[name] for name in given.files)
    module = tvms.load(folder / "main.tvms", mmap=True)
    start = time.process_time()
    function = tvms.compile(module, threads=threads, cache=folder / f"cache-{threads}")["main"]
    taken = time.process_time() - start
    found: Any = function(*arrays)
    found = found[0] if isinstance(found, tuple) else found
    difference = float(np.abs(np.asarray(found) - wanted).max())
    return lambda: function(*arrays), {kind: taken, "difference": difference}


def torch_call(name: str, batch: str, threads: int, is_compiled: bool) -> tuple[Call, dict[str, float]]:
    """Return a call of the network in torch."""
    import torch

    torch.set_num_threads(threads)
    model, *inputs = network(name, int(batch))
    start = time.perf_counter()
    function = torch.compile(model) if is_compiled else model

    def call() -> Any:
        with torch.inference_mode():
            return function(*inputs)

    call()
    return call, {"cold": time.perf_counter() - start} if is_compiled else {}


def tvm_call(name: str, batch: str) -> tuple[Call, dict[str, float]]:
    """Return a call of the network in apache-tvm, imported from torch and compiled by the pipeline `zero`."""
    import torch
    import tvm
    from tvm import relax
    from tvm.relax.frontend.torch import from_exported_program

    model, *inputs = network(name, int(batch))
    module = from_exported_program(torch.export.export(model, tuple(inputs)))
    start = time.process_time()
    built = tvm.compile(relax.get_pipeline("zero")(module), tvm.target.Target("llvm"))
    taken = time.process_time() - start
    function = relax.VirtualMachine(built, tvm.cpu())["main"]
    arrays = [tvm.runtime.tensor(value.numpy()) for value in inputs]
    return lambda: function(*arrays), {"cold": taken}


def session_of(file: str, shape: str, threads: int) -> tuple[Call, Any]:
    """Return a call of an ONNX model by onnxruntime, and its input."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(file, options)
    array = np.random.default_rng(0).standard_normal([int(size) for size in shape.split(",")]).astype("f4")
    given = {session.get_inputs()[0].name: array}
    return lambda: session.run(None, given), array


def export_onnx(folder: Path, file: str, shape: str, kind: str) -> None:
    """Write an ONNX model, imported with symbolic sizes or for one shape, its input and onnxruntime's first result."""
    import onnx
    import tvms
    from tvms.relax.frontend.onnx import from_onnx

    run, array = session_of(file, shape, 1)
    model = onnx.load(file)
    sizes = {model.graph.input[0].name: list(array.shape)} if kind == "static" else None
    tvms.save(from_onnx(model, sizes), folder / "main.tvms")
    np.savez(folder / "arrays.npz", run()[0], array)


def serve(call: Call, facts: dict[str, float]) -> None:
    """Print the facts, then the seconds of one call for each line."""
    for _ in range(WARM_CALLS):
        start = time.perf_counter()
        call()
        if time.perf_counter() - start > MEASURED:
            break
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"peak": peak, **facts}), flush=True)
    for _ in sys.stdin:
        count, start = 0, time.perf_counter()
        while count == 0 or time.perf_counter() - start < MEASURED:
            call()
            count += 1
        print(json.dumps({"seconds": (time.perf_counter() - start) / count}), flush=True)


def main() -> None:
    """Run the kind of process that the arguments ask for."""
    warnings.simplefilter("ignore")
    kind, place, count, *words = sys.argv[1:]
    folder, threads = Path(place), int(count)
    if kind.startswith("export"):
        (export if kind == "export" else export_onnx)(folder, *words)
        print("{}", flush=True)
    elif kind == "cold":
        print(json.dumps(tvms_call(folder, threads, kind)[1]), flush=True)
    elif kind == "tvms":
        serve(*tvms_call(folder, threads, "warm"))
    elif kind == "tvm":
        serve(*tvm_call(words[0], words[1]))
    elif kind == "onnxruntime":
        serve(session_of(words[0], words[1], threads)[0], {})
    else:
        serve(*torch_call(words[0], words[1], threads, kind == "compile"))


if __name__ == "__main__":
    main()
