"""`tvms.meta_schedule.tir_integration`. Generated from the declarations; do not edit."""

from tvms.meta_schedule import *
