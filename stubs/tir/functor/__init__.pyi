"""`tvms.tir.functor`. Generated from the declarations; do not edit."""

from tvms.ir.api.tir.functor import PyStmtExprMutator as PyStmtExprMutator
from tvms.ir.api.tir.functor import PyStmtExprVisitor as PyStmtExprVisitor
from tvms.ir.api.tir.functor import mutator as mutator
from tvms.ir.api.tir.functor import visitor as visitor
