"""What the importer of PyTorch models covers, and how networks of full size come out: differences and times.

    python bench/torch_import.py [NETWORK…]

Without names it prints the coverage only. Needs torch, and torchvision or transformers for the networks of
`published_networks.py`. Weights are random, with the statistics of a random batch. Import (with the export) and compile are
processor time, the run is the smallest of five calls that alternate with torch's.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np
import tvms
from published_networks import Network, published
from tvms.dsl.importers.torch.table import ROWS
from tvms.relax.frontend.torch import from_exported_program

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "importers"))

NOT_MEANT = (
    "rand.default",
    "randn.default",
    "randperm.default",
    "_fft_r2c.default",
    "_fft_c2r.default",
    "atan2.out",
    "resize_.default",
)
"""Core overloads about random numbers, complex tensors, or memory that is given."""
NUMBERS = (
    "sym_size.int", "sym_numel.default", "sym_stride.int", "sym_storage_offset.default", "sym_is_contiguous.default"
)  # fmt: skip
"""Core overloads whose results are numbers, which torch itself tells."""
_CALLS = 5
HEADER = """
| network | largest difference | top-1 | import, s | compile, s | run, ms | torch, ms |
| --- | --- | --- | --- | --- | --- | --- |"""


def core_overloads() -> list[str]:
    """Return the overloads that torch tags as Core ATen."""
    import torch

    # `dir(torch.ops.aten)` lists only those that were used before
    names = sorted(
        name.removeprefix("aten::") for name in torch._C._dispatch_get_all_op_names() if name.startswith("aten::")
    )
    parts = (name.partition(".") for name in names)
    overloads = [getattr(getattr(torch.ops.aten, packet), last or "default") for packet, _, last in parts]
    return [str(overload).removeprefix("aten.") for overload in overloads if torch.Tag.core in overload.tags]


def coverage() -> str:
    """Say how many rows the table has, and how much of Core ATen they and torch's decompositions cover."""
    import torch

    core = core_overloads()
    meant = [name for name in core if name not in NOT_MEANT]
    rows = [name for name in meant if name in ROWS or name in NUMBERS]
    table: Any = import_module("torch._decomp").decomposition_table
    known = {str(target).removeprefix("aten.") for target in table}
    rest = [name for name in meant if name not in rows]
    decomposed = [name for name in rest if name in known]
    missing = [name for name in rest if name not in known]
    share = (len(rows) + len(decomposed)) / len(meant)
    return (
        f"{len(ROWS)} rows; Core ATen of torch {torch.__version__}: {len(core)} overloads, {len(meant)} of them neither random nor "
        f"complex; {len(rows)} by rows, {len(decomposed)} by decomposition, {share:.1%}; missing: {', '.join(missing)}"
    )


def networks() -> dict[str, Callable[[], Network]]:
    """Return the networks by name: a model and its inputs."""
    import torch
    import torch_models as models

    def ids(below: int, *shape: int) -> Any:
        return torch.randint(0, below, shape)

    image = (1, 3, 224, 224)
    return published() | {
        "resnet18": lambda: (models.ResNet(), torch.randn(image)),
        "mobilenetv2": lambda: (models.MobileNetV2(), torch.randn(image)),
        "unet": lambda: (models.UNet(32), torch.randn(1, 3, 128, 128)),
        "vit-b16": lambda: (models.ViT(), torch.randn(image)),
        "bert-base": lambda: (models.BERT(), ids(30000, 1, 64), torch.ones(1, 64, dtype=torch.int64)),
        "gpt2-small": lambda: (models.GPT(), ids(50000, 1, 64)),
        "lstm": lambda: (models.LanguageModel(10000, 256, 2), ids(10000, 1, 32)),
    }


def measure(name: str, model: Any, *inputs: Any) -> str:
    """Import, compile and run a network beside torch, and say what came of it."""
    import torch

    for module in model.modules():
        if hasattr(module, "momentum"):
            module.momentum = None  # the statistics of all batches, which is one
    with torch.no_grad():
        model.train()(*[_batch(operand) for operand in inputs])  # statistics for batch normalization
    model.eval()
    start = process_time()
    module = from_exported_program(torch.export.export(model, inputs))
    imported = process_time() - start
    start = process_time()
    function = tvms.compile(module)["main"]
    compiled = process_time() - start
    arrays = [operand.numpy() for operand in inputs]
    with torch.no_grad():
        wanted = model(*inputs)
    want = (wanted[0] if isinstance(wanted, tuple) else wanted).numpy()
    got = np.asarray(function(*arrays)[0])
    with torch.no_grad():
        pairs = [(_seconds(lambda: function(*arrays)), _seconds(lambda: model(*inputs))) for _ in range(_CALLS)]
    ours, theirs = (min(times) for times in zip(*pairs, strict=True))
    same = bool((got.argmax(-1) == want.argmax(-1)).all())
    return (
        f"| {name} | {np.abs(got - want).max():.1e} of {np.abs(want).max():.2g} | {'equal' if same else 'DIFFERS'} | "
        f"{imported:.1f} | {compiled:.1f} | {ours * 1e3:.1f} | {theirs * 1e3:.1f} |"
    )


def _batch(example: Any) -> Any:
    """Return four random inputs like one of a model; integers are repeated."""
    import torch

    batch = torch.cat([example] * 4)
    return torch.randn_like(batch) if batch.is_floating_point() else batch


def _seconds(call: Callable[[], Any]) -> float:
    start = perf_counter()
    call()
    return perf_counter() - start


def main() -> None:
    """Print the coverage, and measure the networks that are named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NETWORK")
    names = parser.parse_args().names
    warnings.simplefilter("ignore")
    if import_module("importlib.util").find_spec("torch") is None:
        print("torch is not installed")
        return
    import torch

    print(coverage())
    if names:
        print(HEADER)
    for name in names:
        torch.manual_seed(0)
        print(measure(name, *networks()[name]()), flush=True)


if __name__ == "__main__":
    main()
