"""`tvms.meta_schedule.search_strategy`. Generated from the declarations; do not edit."""

from tvms.meta_schedule.tune_context import *
