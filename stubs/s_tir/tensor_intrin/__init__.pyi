"""`tvms.s_tir.tensor_intrin`. Generated from the declarations; do not edit."""

from tvms.tir.tensor_intrin import *
from tvms.s_tir.tensor_intrin import arm_cpu as arm_cpu
from tvms.s_tir.tensor_intrin import cuda as cuda
from tvms.s_tir.tensor_intrin import dot_product_common as dot_product_common
from tvms.s_tir.tensor_intrin import hexagon as hexagon
from tvms.s_tir.tensor_intrin import rocm as rocm
from tvms.s_tir.tensor_intrin import x86 as x86
