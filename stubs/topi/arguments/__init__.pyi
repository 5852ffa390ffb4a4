"""`tvms.topi.arguments`. Generated from the declarations; do not edit."""

from tvms.ir.api.topi.arguments import argsort as argsort
from tvms.ir.api.topi.arguments import dyn_tile as dyn_tile
from tvms.ir.api.topi.arguments import sort as sort
from tvms.ir.api.topi.arguments import strided_slice as strided_slice
from tvms.ir.api.topi.arguments import topk as topk
