"""`tvms.s_tir.meta_schedule.runner`. Generated from the declarations; do not edit."""

from tvms.meta_schedule.runner import *
from tvms.s_tir.meta_schedule.runner import config as config
