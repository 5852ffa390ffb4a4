"""`tvms.relax.frontend.nn.extern`. Generated from the declarations; do not edit."""

from tvms.ir.nn.extern import ExternModule as ExternModule
from tvms.ir.nn.extern import ObjectModule as ObjectModule
from tvms.ir.nn.extern import SourceModule as SourceModule
