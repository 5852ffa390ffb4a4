"""`tvms.topi.testing`. Generated from the declarations; do not edit."""

from tvms.ir.api.topi.testing import batch_matmul as batch_matmul
from tvms.ir.api.topi.testing import dense as dense
from tvms.ir.api.topi.testing import layer_norm_python as layer_norm_python
from tvms.ir.api.topi.testing import log_softmax_python as log_softmax_python
from tvms.ir.api.topi.testing import rms_norm_python as rms_norm_python
from tvms.ir.api.topi.testing import softmax_python as softmax_python
from tvms.ir.api.topi.testing import strided_slice_python as strided_slice_python
