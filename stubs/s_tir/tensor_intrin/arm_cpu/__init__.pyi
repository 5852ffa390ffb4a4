"""`tvms.s_tir.tensor_intrin.arm_cpu`. Generated from the declarations; do not edit."""

from tvms.tir.tensor_intrin import *
