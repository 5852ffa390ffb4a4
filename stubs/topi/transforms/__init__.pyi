"""`tvms.topi.transforms`. Generated from the declarations; do not edit."""

from tvms.ir.api.topi.transforms import dynamic_strided_slice as dynamic_strided_slice
from tvms.ir.api.topi.transforms import expand_like as expand_like
from tvms.ir.api.topi.transforms import matrix_set_diag as matrix_set_diag
from tvms.ir.api.topi.transforms import ndarray_size as ndarray_size
from tvms.ir.api.topi.transforms import reverse_sequence as reverse_sequence
from tvms.ir.api.topi.transforms import sequence_mask as sequence_mask
from tvms.ir.api.topi.transforms import shape as shape
from tvms.ir.api.topi.transforms import sliding_window as sliding_window
from tvms.ir.api.topi.transforms import sparse_reshape as sparse_reshape
from tvms.ir.api.topi.transforms import sparse_to_dense as sparse_to_dense
from tvms.ir.api.topi.transforms import squeeze as squeeze
from tvms.ir.api.topi.transforms import strided_set as strided_set
from tvms.ir.api.topi.transforms import tensordot as tensordot
from tvms.ir.api.topi.transforms import trilu as trilu
from tvms.ir.api.topi.transforms import unravel_index as unravel_index
