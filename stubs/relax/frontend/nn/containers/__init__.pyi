"""`tvms.relax.frontend.nn.containers`. Generated from the declarations; do not edit."""

from tvms.ir.nn.containers import ModuleDict as ModuleDict
from tvms.ir.nn.containers import ParameterDict as ParameterDict
from tvms.ir.nn.containers import ParameterList as ParameterList
