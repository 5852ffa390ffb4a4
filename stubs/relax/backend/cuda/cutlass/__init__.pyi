"""`tvms.relax.backend.cuda.cutlass`. Generated from the declarations; do not edit."""

from tvms.ir.backend.cuda.cutlass import partition_for_cutlass as partition_for_cutlass
