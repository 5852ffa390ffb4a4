"""`tvms.tir.schedule.testing`. Generated from the declarations; do not edit."""

from tvms.dsl.testing.schedule_traces import assert_structural_equal_ignore_global_symbol as assert_structural_equal_ignore_global_symbol
from tvms.dsl.testing.schedule_traces import verify_trace_roundtrip as verify_trace_roundtrip
