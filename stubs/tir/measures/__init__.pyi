"""`tvms.tir.measures`. Generated from the declarations; do not edit."""

from tvms.ir.api.tir.measures import OOBChecker as OOBChecker
from tvms.ir.api.tir.measures import assert_pure_function as assert_pure_function
from tvms.ir.api.tir.measures import calculate_allocated_bytes as calculate_allocated_bytes
from tvms.ir.api.tir.measures import estimate_tir_flops as estimate_tir_flops
from tvms.ir.api.tir.measures import is_pure_function as is_pure_function
