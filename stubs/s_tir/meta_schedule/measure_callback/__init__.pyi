"""`tvms.s_tir.meta_schedule.measure_callback`. Generated from the declarations; do not edit."""

from tvms.meta_schedule.measure_callback import *
