"""ResNet-50 of onnx's test suite with random weights, in float32 and quantized to 8 bits by onnxruntime.

    python bench/quantized_models.py FOLDER

writes resnet50.onnx, resnet50-qlinear.onnx (QLinearConv) and resnet50-qdq.onnx (QuantizeLinear and DequantizeLinear). Activations
are uint8, weights int8 with a scale for each channel; the ranges of activations are those of two random images.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

KINDS = {"resnet50-qlinear": "QOperator", "resnet50-qdq": "QDQ"}


def _weights(name: str, shape: list[int], random: Any) -> Any:
    """Return the weights of an input: normalizations keep the magnitude of activations."""
    if name.endswith(("_bn_s_0", "_bn_riv_0")):
        return np.ones(shape, "float32")
    if name.endswith(("_bn_b_0", "_bn_rm_0", "_b_0")):
        return np.zeros(shape, "float32")
    scale = np.sqrt(1 / max(1, np.prod(shape[1:])))
    return (random.standard_normal(shape) * scale).astype("float32")


def write_float_model(path: Path) -> None:
    """Write ResNet-50 of onnx's test suite with random weights instead of constant ones, as opset 13."""
    import onnx
    from onnx import numpy_helper, version_converter

    light = Path(onnx.__file__).parent / "backend/test/data/light/light_resnet50.onnx"
    model = version_converter.convert_version(onnx.load(light), 13)
    shapes = {tensor.name: numpy_helper.to_array(tensor).tolist() for tensor in model.graph.initializer}
    random, kept = np.random.default_rng(0), list[Any]()
    for node in model.graph.node:
        if node.op_type == "ConstantOfShape":
            array = _weights(node.output[0], shapes[node.input[0]], random)
            model.graph.initializer.append(numpy_helper.from_array(array, node.output[0]))
            continue
        node.op_type = "Add" if node.op_type == "Sum" else node.op_type
        kept.append(node)
    del model.graph.node[:]
    model.graph.node.extend(kept)
    del model.graph.input[1:]
    model.ir_version = 8
    onnx.save(model, path)


def write_quantized_model(source: Path, path: Path, kind: str) -> None:
    """Write `source` quantized in the format `kind`, "QOperator" or "QDQ"."""
    import onnxruntime
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, quantize_static
    from onnxruntime.quantization.shape_inference import quant_pre_process

    image = onnxruntime.InferenceSession(str(source), providers=["CPUExecutionProvider"]).get_inputs()[0]

    class Images(CalibrationDataReader):
        """Two random images."""

        def __init__(self) -> None:
            random = np.random.default_rng(1)
            self._images = iter([random.standard_normal(image.shape).astype("float32") for _ in range(2)])

        def get_next(self) -> dict[str, Any] | None:
            """Return the inputs of the next run."""
            found = next(self._images, None)
            return None if found is None else {image.name: found}

    prepared = path.with_suffix(".prepared")
    quant_pre_process(str(source), str(prepared), skip_symbolic_shape=True)
    operators = ["Conv", "Relu", "Add", "MaxPool"]
    quantize_static(
        str(prepared),
        str(path),
        Images(),
        quant_format=QuantFormat[kind],
        per_channel=True,
        op_types_to_quantize=operators,
    )
    prepared.unlink()


def quantized_model(name: str, folder: Path) -> Path:
    """Return the file of a model of `KINDS` in `folder`, or of "resnet50-random", which is written if it is not there."""
    source = folder / "resnet50.onnx"
    if not source.exists():
        write_float_model(source)
    path = source if name not in KINDS else folder / f"{name}.onnx"
    if not path.exists():
        write_quantized_model(source, path, KINDS[name])
    return path


if __name__ == "__main__":
    for model in KINDS:
        print(quantized_model(model, Path(sys.argv[1])))
