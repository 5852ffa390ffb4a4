"""`tvms.s_tir.meta_schedule.postproc`. Generated from the declarations; do not edit."""

from tvms.meta_schedule.postproc import *
