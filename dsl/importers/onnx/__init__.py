"""ONNX models as programs (TVM: `tvm.relax.frontend.onnx`)."""

from __future__ import annotations

from .from_onnx import from_onnx

__all__ = ["from_onnx"]
