"""`tvms.relax.dpl.constructors`. Generated from the declarations; do not edit."""

from tvms.ir.dpl.constructors import has_attr as has_attr
from tvms.ir.dpl.constructors import has_dtype as has_dtype
from tvms.ir.dpl.constructors import is_call_dps_packed as is_call_dps_packed
from tvms.ir.dpl.constructors import is_call_packed as is_call_packed
from tvms.ir.dpl.constructors import is_call_tir as is_call_tir
from tvms.ir.dpl.constructors import is_const as is_const
from tvms.ir.dpl.constructors import is_dfv as is_dfv
from tvms.ir.dpl.constructors import is_expr as is_expr
from tvms.ir.dpl.constructors import is_gv as is_gv
from tvms.ir.dpl.constructors import is_op as is_op
from tvms.ir.dpl.constructors import is_shape as is_shape
from tvms.ir.dpl.constructors import is_tuple as is_tuple
from tvms.ir.dpl.constructors import is_tuple_get_item as is_tuple_get_item
from tvms.ir.dpl.constructors import is_var as is_var
from tvms.ir.dpl.constructors import make_fused_bias_activation_pattern as make_fused_bias_activation_pattern
from tvms.ir.dpl.constructors import reject as reject
from tvms.ir.dpl.constructors import wildcard as wildcard
