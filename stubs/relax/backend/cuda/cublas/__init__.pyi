"""`tvms.relax.backend.cuda.cublas`. Generated from the declarations; do not edit."""

from tvms.ir.backend.cuda.cublas import external as external
from tvms.ir.backend.cuda.cublas import partition_for_cublas as partition_for_cublas
