"""PyTorch models as programs (TVM: `tvm.relax.frontend.torch`)."""

from __future__ import annotations

from .exported_program import from_exported_program
from .fx import dynamo_capture_subgraphs, from_fx, relax_dynamo
from .recurrent import sequences_of_any_length

__all__ = ["dynamo_capture_subgraphs", "from_exported_program", "from_fx", "relax_dynamo", "sequences_of_any_length"]
