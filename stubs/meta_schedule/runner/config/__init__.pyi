"""`tvms.meta_schedule.runner.config`. Generated from the declarations; do not edit."""

from tvms.meta_schedule.runner import *
