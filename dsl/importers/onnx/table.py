"""The table of converters: an operator, its domain and the versions of the domain that a row converts.

To add an operator, add a row to the file of its family: a function of the converter, and of the inputs and attributes by the
names of the ONNX standard. It returns a value, or a tuple of values for several outputs. docs/onnx.md lists the operators.
"""

from __future__ import annotations

from importlib import import_module

from .rows import Table

FAMILIES = (
    "attention", "contributed", "control_flow", "conversions", "convolution", "creation", "cutting", "deformable",
    "elementwise", "features", "gradients", "images", "indexing", "loops", "normalization",
    "operands", "pooling", "products", "quantization", "quantized", "recurrent", "reductions",
    "resizing", "scores", "selection", "sequences", "shapes", "signals",
    "texts", "training", "trees",
)  # fmt: skip

TABLE = Table(import_module(f".{family}", __package__).ROWS for family in FAMILIES)
