"""`tvms.topi.padding`. Generated from the declarations; do not edit."""

from tvms.ir.api.topi.padding import both_sides as both_sides
from tvms.ir.api.topi.padding import circular_pad as circular_pad
from tvms.ir.api.topi.padding import get_padded_shape as get_padded_shape
from tvms.ir.api.topi.padding import mirror_pad as mirror_pad
from tvms.ir.api.topi.padding import pad as pad
from tvms.ir.api.topi.padding import per_dimension as per_dimension
from tvms.ir.api.topi.padding import reflect_pad as reflect_pad
from tvms.ir.api.topi.padding import replicate_pad as replicate_pad
