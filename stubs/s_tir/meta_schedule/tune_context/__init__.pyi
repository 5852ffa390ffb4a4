"""`tvms.s_tir.meta_schedule.tune_context`. Generated from the declarations; do not edit."""

from tvms.meta_schedule.tune_context import *
