"""`tvms.tir.analysis`. Generated from the declarations; do not edit."""

from tvms.ir.api.tir.analysis import OOBChecker as OOBChecker
from tvms.ir.api.tir.analysis import assert_pure_function as assert_pure_function
from tvms.ir.api.tir.analysis import calculate_allocated_bytes as calculate_allocated_bytes
from tvms.ir.api.tir.analysis import detect_buffer_access_lca as detect_buffer_access_lca
from tvms.ir.api.tir.analysis import estimate_tir_flops as estimate_tir_flops
from tvms.ir.api.tir.analysis import expr_deep_equal as expr_deep_equal
from tvms.ir.api.tir.analysis import get_block_access_region as get_block_access_region
from tvms.ir.api.tir.analysis import get_block_read_write_region as get_block_read_write_region
from tvms.ir.api.tir.analysis import is_pure_function as is_pure_function
from tvms.ir.api.tir.analysis import undefined_vars as undefined_vars
from tvms.ir.api.tir.analysis import verify_ssa as verify_ssa
from tvms.ir.api.tir.analysis import verify_well_formed as verify_well_formed
from tvms.tir.analysis import analysis as analysis
