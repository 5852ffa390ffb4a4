"""`tvms.relax.operators`. Generated from the declarations; do not edit."""

from tvms.ir.api.relax.operators import Dims as Dims
from tvms.ir.api.relax.operators import Inference as Inference
from tvms.ir.api.relax.operators import Param as Param
from tvms.ir.api.relax.operators import RelaxOp as RelaxOp
from tvms.ir.api.relax.operators import add as add
from tvms.ir.api.relax.operators import common_vdevice as common_vdevice
from tvms.ir.api.relax.operators import dims_of as dims_of
from tvms.ir.api.relax.operators import float_like_first as float_like_first
from tvms.ir.api.relax.operators import floordiv as floordiv
from tvms.ir.api.relax.operators import like as like
from tvms.ir.api.relax.operators import multiply as multiply
from tvms.ir.api.relax.operators import register as register
from tvms.ir.api.relax.operators import same_as_first as same_as_first
from tvms.ir.api.relax.operators import subtract as subtract
from tvms.ir.api.relax.operators import tensor_info as tensor_info
