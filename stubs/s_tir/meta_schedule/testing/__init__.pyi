"""`tvms.s_tir.meta_schedule.testing`. Generated from the declarations; do not edit."""

from tvms.meta_schedule.testing import *
from tvms.s_tir.meta_schedule.testing import dummy_object as dummy_object
from tvms.s_tir.meta_schedule.testing import space_generation as space_generation
from tvms.s_tir.meta_schedule.testing import te_workload as te_workload
