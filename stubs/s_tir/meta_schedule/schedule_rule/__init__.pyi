"""`tvms.s_tir.meta_schedule.schedule_rule`. Generated from the declarations; do not edit."""

from tvms.meta_schedule.schedule_rule import *
