"""`tvms.topi.packed_layouts`. Generated from the declarations; do not edit."""

from tvms.ir.api.topi.packed_layouts import conv2d_NCHWc as conv2d_NCHWc
from tvms.ir.api.topi.packed_layouts import conv2d_NCHWc_int8 as conv2d_NCHWc_int8
from tvms.ir.api.topi.packed_layouts import dense_pack as dense_pack
from tvms.ir.api.topi.packed_layouts import depthwise_conv2d_NCHWc as depthwise_conv2d_NCHWc
from tvms.ir.api.topi.packed_layouts import unpack_NCHWc_to_nchw as unpack_NCHWc_to_nchw
