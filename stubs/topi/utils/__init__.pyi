"""`tvms.topi.utils`. Generated from the declarations; do not edit."""

from tvms.ir.api.topi.utils import InvalidShapeError as InvalidShapeError
from tvms.ir.api.topi.utils import ceil_div as ceil_div
from tvms.ir.api.topi.utils import const_matrix as const_matrix
from tvms.ir.api.topi.utils import const_vector as const_vector
from tvms.ir.api.topi.utils import equal_const_int as equal_const_int
from tvms.ir.api.topi.utils import get_const_float as get_const_float
from tvms.ir.api.topi.utils import get_const_int as get_const_int
from tvms.ir.api.topi.utils import get_const_tuple as get_const_tuple
from tvms.ir.api.topi.utils import get_float_tuple as get_float_tuple
from tvms.ir.api.topi.utils import get_max_power2_factor as get_max_power2_factor
from tvms.ir.api.topi.utils import get_shape as get_shape
from tvms.ir.api.topi.utils import is_dynamic_shape as is_dynamic_shape
from tvms.ir.api.topi.utils import is_empty_shape as is_empty_shape
from tvms.ir.api.topi.utils import prod as prod
from tvms.ir.api.topi.utils import ravel_index as ravel_index
from tvms.ir.api.topi.utils import simplify as simplify
from tvms.ir.api.topi.utils import swap as swap
from tvms.ir.api.topi.utils import unravel_index as unravel_index
