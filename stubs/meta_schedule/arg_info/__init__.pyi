"""`tvms.meta_schedule.arg_info`. Generated from the declarations; do not edit."""

from tvms.codegen.tuner.tvm_records import ArgInfo as ArgInfo
from tvms.codegen.tuner.tvm_records import FAILED as FAILED
from tvms.codegen.tuner.tvm_records import TensorInfo as TensorInfo
from tvms.codegen.tuner.tvm_records import TuningRecord as TuningRecord
from tvms.codegen.tuner.tvm_records import Workload as Workload
from tvms.codegen.tuner.tvm_records import no_row as no_row
