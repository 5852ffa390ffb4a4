"""`tvms.meta_schedule.measure_callback`. Generated from the declarations; do not edit."""

from tvms.codegen.tuner.tvm_measuring import BuiltRunner as BuiltRunner
from tvms.codegen.tuner.tvm_measuring import MeasureCallback as MeasureCallback
from tvms.codegen.tuner.tvm_measuring import MeasureCandidate as MeasureCandidate
from tvms.codegen.tuner.tvm_measuring import PyMeasureCallback as PyMeasureCallback
from tvms.codegen.tuner.tvm_measuring import measure_candidate as measure_candidate
from tvms.codegen.tuner.tvm_measuring import measured as measured
