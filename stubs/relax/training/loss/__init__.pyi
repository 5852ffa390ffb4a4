"""`tvms.relax.training.loss`. Generated from the declarations; do not edit."""

from tvms.ir.api.relax.training.loss import CategoricalCrossEntropyLoss as CategoricalCrossEntropyLoss
from tvms.ir.api.relax.training.loss import CrossEntropyLoss as CrossEntropyLoss
from tvms.ir.api.relax.training.loss import L1Loss as L1Loss
from tvms.ir.api.relax.training.loss import Loss as Loss
from tvms.ir.api.relax.training.loss import MSELoss as MSELoss
from tvms.ir.api.relax.training.loss import Param as Param
from tvms.ir.api.relax.training.loss import Reduction as Reduction
