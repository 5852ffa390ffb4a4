"""`tvms.script.host_expressions`. Generated from the declarations; do not edit."""

from tvms.dsl.script.host_expressions import as_factory as as_factory
from tvms.dsl.script.host_expressions import pyfunc as pyfunc
from tvms.dsl.script.host_expressions import with_constants as with_constants
from tvms.dsl.script.host_expressions import without_pragmas as without_pragmas
from tvms.dsl.script.host_expressions import without_python_functions as without_python_functions
