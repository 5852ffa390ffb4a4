"""`tvms.s_tir.meta_schedule.task_scheduler`. Generated from the declarations; do not edit."""

from tvms.meta_schedule import *
