"""The package onnx, imported on first use."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from ....ir.diagnostics import error


def library() -> Any:
    """Return the module `onnx`; E0812 if it is not installed."""
    if find_spec("onnx") is None:
        raise error("E0812", "importing an ONNX model needs onnx", None, "pip install 'tvms-lang[onnx]'")
    return import_module("onnx")
