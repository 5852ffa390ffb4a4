"""`tvms.base`. Generated from the declarations; do not edit."""

from tvms.ir.api.error import DiagnosticError as DiagnosticError
from tvms.ir.api.error import InternalError as InternalError
from tvms.ir.api.error import TVMError as TVMError
from tvms.ir.api.error import py_str as py_str
