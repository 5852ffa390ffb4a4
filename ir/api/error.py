"""Errors under TVM's names (TVM: `tvm.error`, `tvm.base`); all are `tvms.TvmsError`."""

from ..diagnostics import TvmsError

TVMError = DiagnosticError = InternalError = TvmsError

__all__ = ["DiagnosticError", "InternalError", "TVMError"]
