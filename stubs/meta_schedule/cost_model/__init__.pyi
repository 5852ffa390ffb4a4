"""`tvms.meta_schedule.cost_model`. Generated from the declarations; do not edit."""

from tvms.codegen.tuner.tvm_cost_model import CostModel as CostModel
from tvms.codegen.tuner.tvm_cost_model import PyCostModel as PyCostModel
from tvms.codegen.tuner.tvm_cost_model import RandomModel as RandomModel
from tvms.codegen.tuner.tvm_cost_model import as_model as as_model
from tvms.codegen.tuner.tvm_cost_model import create as create
