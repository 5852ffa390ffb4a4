"""`tvms.s_tir.meta_schedule.mutator`. Generated from the declarations; do not edit."""

from tvms.meta_schedule.mutator import *
