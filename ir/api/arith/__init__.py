"""Arithmetic analyses in Python (TVM: `tvm.arith`): simplification, bounds, and proofs.

analyzer = arith.Analyzer()
analyzer.bind(j, (0, 32))
analyzer.simplify((i * 32 + j) // 32)  # i
"""

from ...analysis.proof import Proof, Verdict
from .analyzer import Analyzer, ConstIntBound, Extension, ModularSet, ProofStrength
from .bound import deduce_bound, domain_touched, narrow_predicate_expression
from .int_set import (
    IntervalSet,
    IntSet,
    estimate_region_lower_bound,
    estimate_region_strict_bound,
    estimate_region_upper_bound,
)
from .iter_affine_map import (
    IterMapExpr,
    IterMapLevel,
    IterMark,
    IterSplitExpr,
    IterSumExpr,
    detect_iter_map,
    inverse_affine_iter_map,
    iter_map_simplify,
    normalize_iter_map_to_expr,
    normalize_to_iter_sum,
    subspace_divide,
)
from .pattern import detect_clip_bound, detect_common_subexpr, detect_linear_equation
from .values import Domain

__all__ = [
    "Analyzer", "ConstIntBound", "Domain", "Extension", "IntSet", "IntervalSet", "IterMapExpr", "IterMapLevel",
    "IterMark", "IterSplitExpr", "IterSumExpr", "ModularSet", "Proof", "ProofStrength", "Verdict", "deduce_bound",
    "detect_clip_bound", "detect_common_subexpr", "detect_iter_map", "detect_linear_equation", "domain_touched",
    "estimate_region_lower_bound", "estimate_region_strict_bound", "estimate_region_upper_bound",
    "inverse_affine_iter_map", "iter_map_simplify", "narrow_predicate_expression", "normalize_iter_map_to_expr",
    "normalize_to_iter_sum", "subspace_divide",
]  # fmt: skip
