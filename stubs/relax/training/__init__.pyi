"""`tvms.relax.training`. Generated from the declarations; do not edit."""

from tvms.ir.api.relax.training import AppendLoss as AppendLoss
from tvms.ir.api.relax.training import Loss as Loss
from tvms.ir.api.relax.training import Optimizer as Optimizer
from tvms.ir.api.relax.training import SetupTrainer as SetupTrainer
from tvms.relax.training import loss as loss
from tvms.relax.training import optimizer as optimizer
from tvms.relax.training import setup_trainer as setup_trainer
from tvms.relax.training import trainer as trainer
from tvms.relax.training import utils as utils
