"""`tvms.arith.pattern`. Generated from the declarations; do not edit."""

from tvms.ir.api.arith.pattern import detect_clip_bound as detect_clip_bound
from tvms.ir.api.arith.pattern import detect_common_subexpr as detect_common_subexpr
from tvms.ir.api.arith.pattern import detect_linear_equation as detect_linear_equation
