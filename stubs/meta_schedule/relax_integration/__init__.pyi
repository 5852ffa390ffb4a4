"""`tvms.meta_schedule.relax_integration`. Generated from the declarations; do not edit."""

from tvms.codegen.tuner.relax_integration import ExtractedTask as ExtractedTask
from tvms.codegen.tuner.relax_integration import compile_relax as compile_relax
from tvms.codegen.tuner.relax_integration import extract_tasks as extract_tasks
from tvms.codegen.tuner.relax_integration import tune_relax as tune_relax
