"""`tvms.relax.expr_mutator`. Generated from the declarations; do not edit."""

from tvms.ir.api.relax.expr_mutator import PyExprMutator as PyExprMutator
