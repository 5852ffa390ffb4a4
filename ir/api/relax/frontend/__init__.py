"""Frontends for graph-level programs in Python (TVM: `tvm.relax.frontend`): `nn`, modules as in PyTorch."""

from .... import nn

__all__ = ["nn"]
