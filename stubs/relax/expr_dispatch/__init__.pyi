"""`tvms.relax.expr_dispatch`. Generated from the declarations; do not edit."""

from tvms.ir.api.relax.expr_dispatch import ExprFunctor as ExprFunctor
from tvms.ir.api.relax.expr_dispatch import METHODS as METHODS
