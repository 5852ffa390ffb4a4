"""`tvms.relax.expr_functor`. Generated from the declarations; do not edit."""

from tvms.ir.api.relax.expr_functor import PyExprMutator as PyExprMutator
from tvms.ir.api.relax.expr_functor import PyExprVisitor as PyExprVisitor
from tvms.ir.api.relax.expr_functor import mutator as mutator
from tvms.ir.api.relax.expr_functor import visitor as visitor
