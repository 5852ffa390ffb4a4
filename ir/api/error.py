"""Errors under TVM's names (TVM: `tvm.error`, `tvm.base`); all are `tvms.TvmsError`."""

from ..diagnostics import TvmsError

TVMError = DiagnosticError = InternalError = TvmsError


def py_str(x: bytes) -> str:
    """Return the text that `x` holds in UTF-8 (TVM: `tvm.base.py_str`)."""
    return x.decode("utf-8")


__all__ = ["DiagnosticError", "InternalError", "TVMError", "py_str"]
