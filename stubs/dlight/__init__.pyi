"""`tvms.dlight`. Generated from the declarations; do not edit."""

from tvms.codegen.dlight import ApplyDefaultSchedule as ApplyDefaultSchedule
from tvms.codegen.dlight import BlockInfo as BlockInfo
from tvms.codegen.dlight import IterInfo as IterInfo
from tvms.codegen.dlight import ScheduleRule as ScheduleRule
from tvms.codegen.dlight import analysis as analysis
from tvms.codegen.dlight import cpu as cpu
from tvms.codegen.dlight import gpu as gpu
from tvms.codegen.dlight import normalize_prim_func as normalize_prim_func
from tvms.codegen.dlight import try_inline as try_inline
from tvms.codegen.dlight import try_inline_contiguous_spatial as try_inline_contiguous_spatial
