"""`tvms.arith.values`. Generated from the declarations; do not edit."""

from tvms.ir.api.arith.values import Domain as Domain
from tvms.ir.api.arith.values import condition_of as condition_of
from tvms.ir.api.arith.values import range_of as range_of
from tvms.ir.api.arith.values import ranges_of as ranges_of
from tvms.ir.api.arith.values import variable_of as variable_of
