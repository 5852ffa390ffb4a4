"""`tvms.relax.training.utils`. Generated from the declarations; do not edit."""

from tvms.ir.api.relax.training.utils import AppendLoss as AppendLoss
from tvms.ir.api.relax.training.utils import register_te_gradient as register_te_gradient
