"""Errors under TVM's names (TVM: `tvm.error`, `tvm.base`): all are `tvms.TvmsError`, which says what and where."""

from ..diagnostics import TvmsError

TVMError = DiagnosticError = InternalError = TvmsError

__all__ = ["DiagnosticError", "InternalError", "TVMError"]
