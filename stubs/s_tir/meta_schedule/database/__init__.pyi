"""`tvms.s_tir.meta_schedule.database`. Generated from the declarations; do not edit."""

from tvms.meta_schedule.database import *
