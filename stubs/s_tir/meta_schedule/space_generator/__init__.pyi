"""`tvms.s_tir.meta_schedule.space_generator`. Generated from the declarations; do not edit."""

from tvms.meta_schedule.space_generator import *
