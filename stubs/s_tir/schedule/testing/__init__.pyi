"""`tvms.s_tir.schedule.testing`. Generated from the declarations; do not edit."""

from tvms.tir.schedule.testing import *
