"""`tvms.relax.training.optimizer`. Generated from the declarations; do not edit."""

from tvms.ir.api.relax.training.optimizer import Adam as Adam
from tvms.ir.api.relax.training.optimizer import MomentumSGD as MomentumSGD
from tvms.ir.api.relax.training.optimizer import Optimizer as Optimizer
from tvms.ir.api.relax.training.optimizer import SGD as SGD
