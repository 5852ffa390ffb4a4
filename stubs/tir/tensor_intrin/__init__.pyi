"""`tvms.tir.tensor_intrin`. Generated from the declarations; do not edit."""

from tvms.ir.api.tir.tensor_intrin import get_mma_intrin_group as get_mma_intrin_group
from tvms.ir.api.tir.tensor_intrin import get_wmma_intrin_group as get_wmma_intrin_group
from tvms.tir.tensor_intrin import arm_cpu as arm_cpu
from tvms.tir.tensor_intrin import cuda as cuda
from tvms.tir.tensor_intrin import dot_product_common as dot_product_common
from tvms.tir.tensor_intrin import hexagon as hexagon
from tvms.tir.tensor_intrin import rocm as rocm
from tvms.tir.tensor_intrin import x86 as x86
