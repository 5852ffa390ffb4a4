"""`tvms.relax.dpl.rewriter`. Generated from the declarations; do not edit."""

from tvms.ir.dpl.rewriter import ExprPatternRewriter as ExprPatternRewriter
from tvms.ir.dpl.rewriter import MOST_ROUNDS as MOST_ROUNDS
from tvms.ir.dpl.rewriter import OrRewriter as OrRewriter
from tvms.ir.dpl.rewriter import PatternMatchingRewriter as PatternMatchingRewriter
from tvms.ir.dpl.rewriter import Rewriter as Rewriter
from tvms.ir.dpl.rewriter import Rewrites as Rewrites
from tvms.ir.dpl.rewriter import TupleRewriter as TupleRewriter
from tvms.ir.dpl.rewriter import Values as Values
