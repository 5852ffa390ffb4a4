"""`tvms.relax.backend.external`. Generated from the declarations; do not edit."""

from tvms.ir.backend.external import BLAS as BLAS
from tvms.ir.backend.external import compile_functions as compile_functions
from tvms.ir.backend.external import external_functions as external_functions
