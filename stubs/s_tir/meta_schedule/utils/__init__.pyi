"""`tvms.s_tir.meta_schedule.utils`. Generated from the declarations; do not edit."""

from tvms.meta_schedule import *
