"""`tvms.meta_schedule`. Generated from the declarations; do not edit."""

from tvms.codegen.tuner.meta_schedule import Database as Database
from tvms.codegen.tuner.meta_schedule import FILE as FILE
from tvms.codegen.tuner.meta_schedule import TuneContext as TuneContext
from tvms.codegen.tuner.meta_schedule import apply_database as apply_database
from tvms.codegen.tuner.meta_schedule import compile_tir as compile_tir
from tvms.codegen.tuner.meta_schedule import derived_object as derived_object
from tvms.codegen.tuner.meta_schedule import tune_functions as tune_functions
from tvms.codegen.tuner.meta_schedule import tune_relax as tune_relax
from tvms.codegen.tuner.meta_schedule import tune_tir as tune_tir
from tvms.meta_schedule import relax_integration as relax_integration
from tvms.meta_schedule import schedule_rule as schedule_rule
from tvms.meta_schedule import space_generator as space_generator
from tvms.meta_schedule import tir_integration as tir_integration
from tvms.meta_schedule import tune_context as tune_context
from tvms.meta_schedule import utils as utils
