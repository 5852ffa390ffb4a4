"""`tvms.s_tir.meta_schedule.builder`. Generated from the declarations; do not edit."""

from tvms.meta_schedule.builder import *
