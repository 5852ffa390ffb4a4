"""`tvms.s_tir.meta_schedule`. Generated from the declarations; do not edit."""

from tvms.meta_schedule import *
from tvms.s_tir.meta_schedule import arg_info as arg_info
from tvms.s_tir.meta_schedule import builder as builder
from tvms.s_tir.meta_schedule import cost_model as cost_model
from tvms.s_tir.meta_schedule import database as database
from tvms.s_tir.meta_schedule import measure_callback as measure_callback
from tvms.s_tir.meta_schedule import mutator as mutator
from tvms.s_tir.meta_schedule import postproc as postproc
from tvms.s_tir.meta_schedule import runner as runner
from tvms.s_tir.meta_schedule import schedule_rule as schedule_rule
from tvms.s_tir.meta_schedule import search_strategy as search_strategy
from tvms.s_tir.meta_schedule import space_generator as space_generator
from tvms.s_tir.meta_schedule import task_scheduler as task_scheduler
from tvms.s_tir.meta_schedule import testing as testing
from tvms.s_tir.meta_schedule import tune_context as tune_context
from tvms.s_tir.meta_schedule import utils as utils
