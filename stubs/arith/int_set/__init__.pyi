"""`tvms.arith.int_set`. Generated from the declarations; do not edit."""

from tvms.ir.api.arith.int_set import IntSet as IntSet
from tvms.ir.api.arith.int_set import IntervalSet as IntervalSet
from tvms.ir.api.arith.int_set import estimate_region_lower_bound as estimate_region_lower_bound
from tvms.ir.api.arith.int_set import estimate_region_strict_bound as estimate_region_strict_bound
from tvms.ir.api.arith.int_set import estimate_region_upper_bound as estimate_region_upper_bound
from tvms.ir.api.arith.int_set import intervals_of as intervals_of
from tvms.ir.api.arith.int_set import neg_inf as neg_inf
from tvms.ir.api.arith.int_set import pos_inf as pos_inf
from tvms.ir.api.arith.int_set import union_lower_bound as union_lower_bound
