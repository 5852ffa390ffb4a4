"""`tvms.arith.iter_affine_map`. Generated from the declarations; do not edit."""

from tvms.ir.api.arith.iter_affine_map import IterMapExpr as IterMapExpr
from tvms.ir.api.arith.iter_affine_map import IterMapLevel as IterMapLevel
from tvms.ir.analysis.iter_marks import IterMark as IterMark
from tvms.ir.analysis.iter_marks import IterSplitExpr as IterSplitExpr
from tvms.ir.analysis.iter_marks import IterSumExpr as IterSumExpr
from tvms.ir.api.arith.iter_affine_map import detect_iter_map as detect_iter_map
from tvms.ir.api.arith.iter_affine_map import inverse_affine_iter_map as inverse_affine_iter_map
from tvms.ir.api.arith.iter_affine_map import iter_map_simplify as iter_map_simplify
from tvms.ir.api.arith.iter_affine_map import normalize_iter_map_to_expr as normalize_iter_map_to_expr
from tvms.ir.api.arith.iter_affine_map import normalize_to_iter_sum as normalize_to_iter_sum
from tvms.ir.api.arith.iter_affine_map import subspace_divide as subspace_divide
