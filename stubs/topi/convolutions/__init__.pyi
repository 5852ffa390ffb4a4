"""`tvms.topi.convolutions`. Generated from the declarations; do not edit."""

from tvms.ir.api.topi.convolutions import conv as conv
from tvms.ir.api.topi.convolutions import conv1d_ncw as conv1d_ncw
from tvms.ir.api.topi.convolutions import conv1d_nwc as conv1d_nwc
from tvms.ir.api.topi.convolutions import conv1d_transpose_ncw as conv1d_transpose_ncw
from tvms.ir.api.topi.convolutions import conv2d_hwcn as conv2d_hwcn
from tvms.ir.api.topi.convolutions import conv2d_transpose_nchw as conv2d_transpose_nchw
from tvms.ir.api.topi.convolutions import conv2d_transpose_nchw_preprocess as conv2d_transpose_nchw_preprocess
from tvms.ir.api.topi.convolutions import conv3d_ncdhw as conv3d_ncdhw
from tvms.ir.api.topi.convolutions import conv3d_ndhwc as conv3d_ndhwc
from tvms.ir.api.topi.convolutions import conv3d_transpose_ncdhw as conv3d_transpose_ncdhw
from tvms.ir.api.topi.convolutions import conv3d_transpose_ncdhw_preprocess as conv3d_transpose_ncdhw_preprocess
from tvms.ir.api.topi.convolutions import declaration_conv2d_transpose_impl as declaration_conv2d_transpose_impl
from tvms.ir.api.topi.convolutions import declaration_conv3d_transpose_impl as declaration_conv3d_transpose_impl
from tvms.ir.api.topi.convolutions import depthwise_conv2d_backward_input_nhwc as depthwise_conv2d_backward_input_nhwc
from tvms.ir.api.topi.convolutions import depthwise_conv2d_backward_weight_nhwc as depthwise_conv2d_backward_weight_nhwc
from tvms.ir.api.topi.convolutions import depthwise_conv2d_nhwc as depthwise_conv2d_nhwc
from tvms.ir.api.topi.convolutions import dilate as dilate
from tvms.ir.api.topi.convolutions import group_conv1d_ncw as group_conv1d_ncw
from tvms.ir.api.topi.convolutions import group_conv1d_nwc as group_conv1d_nwc
from tvms.ir.api.topi.convolutions import group_conv1d_transpose_ncw as group_conv1d_transpose_ncw
from tvms.ir.api.topi.convolutions import group_conv2d_nhwc as group_conv2d_nhwc
from tvms.ir.api.topi.convolutions import group_conv2d_transpose_nchw as group_conv2d_transpose_nchw
from tvms.ir.api.topi.convolutions import group_conv3d_transpose_ncdhw as group_conv3d_transpose_ncdhw
