"""`tvms.tir.transform`. Generated from the declarations; do not edit."""

from tvms.codegen.lower.passes import HoistedConditionals as HoistedConditionals
from tvms.codegen.lower.passes import HoistedLetBindings as HoistedLetBindings
from tvms.codegen.lower.passes import PrimFuncPass as PrimFuncPass
from tvms.codegen.lower.passes import annotate_entry as annotate_entry
from tvms.codegen.lower.passes import apply as apply
from tvms.codegen.lower.passes import apply_default_schedule as apply_default_schedule
from tvms.codegen.lower.passes import apply_gpu_schedule as apply_gpu_schedule
from tvms.codegen.lower.passes import bind_target as bind_target
from tvms.codegen.lower.passes import compact as compact
from tvms.codegen.lower.passes import convert_loops_to_serial as convert_loops_to_serial
from tvms.codegen.lower.passes import decorate as decorate
from tvms.codegen.lower.passes import eliminate as eliminate
from tvms.codegen.lower.passes import flatten as flatten
from tvms.codegen.lower.passes import guard as guard
from tvms.codegen.lower.passes import guard_declared as guard_declared
from tvms.codegen.lower.passes import hoist as hoist
from tvms.codegen.lower.passes import keep_where as keep_where
from tvms.codegen.lower.passes import lowering as lowering
from tvms.codegen.lower.passes import narrow as narrow
from tvms.codegen.lower.passes import prim_func_pass as prim_func_pass
from tvms.codegen.lower.passes import remove_assumptions as remove_assumptions
from tvms.codegen.lower.passes import rewrite_unsafe_selects as rewrite_unsafe_selects
from tvms.codegen.lower.passes import skip_asserts as skip_asserts
from tvms.tir.transform import function_pass as function_pass
from tvms.tir.transform import transform as transform
