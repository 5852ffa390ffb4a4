"""`tvms.s_tir.meta_schedule.testing.space_generation`. Generated from the declarations; do not edit."""

from tvms.meta_schedule.testing.space_generation import *
