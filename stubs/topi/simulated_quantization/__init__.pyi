"""`tvms.topi.simulated_quantization`. Generated from the declarations; do not edit."""

from tvms.ir.api.topi.simulated_quantization import SQNN_CODE_TO_DTYPE as SQNN_CODE_TO_DTYPE
from tvms.ir.api.topi.simulated_quantization import SQNN_DISABLE as SQNN_DISABLE
from tvms.ir.api.topi.simulated_quantization import SQNN_DTYPE_TO_CODE as SQNN_DTYPE_TO_CODE
from tvms.ir.api.topi.simulated_quantization import SQNN_INT32 as SQNN_INT32
from tvms.ir.api.topi.simulated_quantization import SQNN_INT8 as SQNN_INT8
from tvms.ir.api.topi.simulated_quantization import SQNN_UINT8 as SQNN_UINT8
from tvms.ir.api.topi.simulated_quantization import simulated_dequantize as simulated_dequantize
from tvms.ir.api.topi.simulated_quantization import simulated_quantize as simulated_quantize
