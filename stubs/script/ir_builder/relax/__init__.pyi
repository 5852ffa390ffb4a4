"""`tvms.script.ir_builder.relax`. Generated from the declarations; do not edit."""

from tvms.dsl.script.ir_builder.relax import DataflowBlock as DataflowBlock
from tvms.dsl.script.ir_builder.relax import arg as arg
from tvms.dsl.script.ir_builder.relax import call_packed as call_packed
from tvms.dsl.script.ir_builder.relax import dataflow as dataflow
from tvms.dsl.script.ir_builder.relax import emit as emit
from tvms.dsl.script.ir_builder.relax import emit_match_cast as emit_match_cast
from tvms.dsl.script.ir_builder.relax import emit_te as emit_te
from tvms.dsl.script.ir_builder.relax import emit_var_binding as emit_var_binding
from tvms.dsl.script.ir_builder.relax import func_attr as func_attr
from tvms.dsl.script.ir_builder.relax import func_name as func_name
from tvms.dsl.script.ir_builder.relax import func_ret_struct_info as func_ret_struct_info
from tvms.dsl.script.ir_builder.relax import func_ret_ty as func_ret_ty
from tvms.dsl.script.ir_builder.relax import func_ret_value as func_ret_value
from tvms.dsl.script.ir_builder.relax import function as function
from tvms.dsl.script.ir_builder.relax import output as output
