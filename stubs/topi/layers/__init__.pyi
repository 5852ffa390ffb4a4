"""`tvms.topi.layers`. Generated from the declarations; do not edit."""

from tvms.ir.api.topi.layers import POOL_TYPE_CODE as POOL_TYPE_CODE
from tvms.ir.api.topi.layers import adaptive as adaptive
from tvms.ir.api.topi.layers import batch_to_space_nd as batch_to_space_nd
from tvms.ir.api.topi.layers import correlation_nchw as correlation_nchw
from tvms.ir.api.topi.layers import deformable_conv2d_nchw as deformable_conv2d_nchw
from tvms.ir.api.topi.layers import deformable_conv2d_nhwc as deformable_conv2d_nhwc
from tvms.ir.api.topi.layers import depth_to_space as depth_to_space
from tvms.ir.api.topi.layers import fast_softmax as fast_softmax
from tvms.ir.api.topi.layers import fifo_buffer as fifo_buffer
from tvms.ir.api.topi.layers import lrn as lrn
from tvms.ir.api.topi.layers import pool_grad as pool_grad
from tvms.ir.api.topi.layers import scale_shift_nchw as scale_shift_nchw
from tvms.ir.api.topi.layers import scale_shift_nchwc as scale_shift_nchwc
from tvms.ir.api.topi.layers import scale_shift_nhwc as scale_shift_nhwc
from tvms.ir.api.topi.layers import softmax_common as softmax_common
from tvms.ir.api.topi.layers import space_to_batch_nd as space_to_batch_nd
from tvms.ir.api.topi.layers import space_to_depth as space_to_depth
from tvms.ir.api.topi.layers import upsampling as upsampling
from tvms.ir.api.topi.layers import upsampling3d as upsampling3d
