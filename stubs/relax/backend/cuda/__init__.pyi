"""`tvms.relax.backend.cuda`. Generated from the declarations; do not edit."""

from tvms.relax.backend.cuda import cublas as cublas
from tvms.relax.backend.cuda import cutlass as cutlass
