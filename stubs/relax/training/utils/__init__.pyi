"""`tvms.relax.training.utils`. Generated from the declarations; do not edit."""

from tvms.ir.api.relax.training.utils import AppendLoss as AppendLoss
