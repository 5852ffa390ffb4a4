"""`tvms.s_tir.meta_schedule.testing.te_workload`. Generated from the declarations; do not edit."""

from tvms.meta_schedule.testing.te_workload import *
