"""`tvms.arith.bound`. Generated from the declarations; do not edit."""

from tvms.ir.api.arith.bound import deduce_bound as deduce_bound
from tvms.ir.api.arith.bound import domain_touched as domain_touched
from tvms.ir.api.arith.bound import narrow_predicate_expression as narrow_predicate_expression
