"""PyTorch models as programs (TVM: `tvm.relax.frontend.torch`)."""

from __future__ import annotations

from .exported_program import from_exported_program

__all__ = ["from_exported_program"]
