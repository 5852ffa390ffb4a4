"""Ports Python programs for Apache TVM: `tvms port`."""

from __future__ import annotations

from ...ir.diagnostics import Diagnostic, Source
from .notebook import port_notebook
from .python import port_python

__all__ = ["port"]


def port(source: Source) -> tuple[str, tuple[Diagnostic, ...]]:
    """Return a Python program, or the notebook if its name ends in .ipynb, with imports and names of tvms.

    Nothing is executed. The second result has a warning E0820 for each name that tvms lacks. Raises E0821 if the text is
    not valid Python, or not a notebook.
    """
    return port_notebook(source) if source.name.endswith(".ipynb") else port_python(source)
