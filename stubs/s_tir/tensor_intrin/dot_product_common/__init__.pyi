"""`tvms.s_tir.tensor_intrin.dot_product_common`. Generated from the declarations; do not edit."""

from tvms.tir.tensor_intrin import *
