"""`tvms.s_tir.meta_schedule`. Generated from the declarations; do not edit."""

from tvms.meta_schedule import *
