"""`tvms.meta_schedule.testing.te_workload`. Generated from the declarations; do not edit."""

from tvms.codegen.tuner.testing.te_workload import CONFIGS as CONFIGS
from tvms.codegen.tuner.testing.te_workload import FLOAT as FLOAT
from tvms.codegen.tuner.testing.te_workload import Parts as Parts
from tvms.codegen.tuner.testing.te_workload import batch_matmul_nkkm as batch_matmul_nkkm
from tvms.codegen.tuner.testing.te_workload import conv1d_nlc as conv1d_nlc
from tvms.codegen.tuner.testing.te_workload import conv2d_capsule_nhwijc as conv2d_capsule_nhwijc
from tvms.codegen.tuner.testing.te_workload import conv2d_nhwc as conv2d_nhwc
from tvms.codegen.tuner.testing.te_workload import conv2d_nhwc_bn_relu as conv2d_nhwc_bn_relu
from tvms.codegen.tuner.testing.te_workload import conv2d_transpose_nhwc as conv2d_transpose_nhwc
from tvms.codegen.tuner.testing.te_workload import conv3d_ndhwc as conv3d_ndhwc
from tvms.codegen.tuner.testing.te_workload import create_te_workload as create_te_workload
from tvms.codegen.tuner.testing.te_workload import depthwise_conv2d_nhwc as depthwise_conv2d_nhwc
from tvms.codegen.tuner.testing.te_workload import matmul as matmul
from tvms.codegen.tuner.testing.te_workload import matmul_relu as matmul_relu
from tvms.codegen.tuner.testing.te_workload import norm_bmn as norm_bmn
from tvms.codegen.tuner.testing.te_workload import softmax_mn as softmax_mn
from tvms.codegen.tuner.testing.te_workload import transpose_batch_matmul as transpose_batch_matmul
