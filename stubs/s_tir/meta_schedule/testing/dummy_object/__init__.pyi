"""`tvms.s_tir.meta_schedule.testing.dummy_object`. Generated from the declarations; do not edit."""

from tvms.meta_schedule.testing.dummy_object import *
