"""`tvms.s_tir.meta_schedule.cost_model`. Generated from the declarations; do not edit."""

from tvms.meta_schedule.cost_model import *
