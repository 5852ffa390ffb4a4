"""`tvms.relax.backend.patterns`. Generated from the declarations; do not edit."""

from tvms.ir.backend.patterns import Named as Named
from tvms.ir.backend.patterns import make_attention_pattern as make_attention_pattern
from tvms.ir.backend.patterns import make_conv2d_pattern as make_conv2d_pattern
from tvms.ir.backend.patterns import make_fused_bias_activation_pattern as make_fused_bias_activation_pattern
from tvms.ir.backend.patterns import make_layer_norm_pattern as make_layer_norm_pattern
from tvms.ir.backend.patterns import make_matmul_pattern as make_matmul_pattern
from tvms.ir.backend.patterns import make_residual_block_pattern as make_residual_block_pattern
