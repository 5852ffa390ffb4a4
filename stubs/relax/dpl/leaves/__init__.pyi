"""`tvms.relax.dpl.leaves`. Generated from the declarations; do not edit."""

from tvms.ir.dpl.leaves import ConstantPattern as ConstantPattern
from tvms.ir.dpl.leaves import DataflowVarPattern as DataflowVarPattern
from tvms.ir.dpl.leaves import ExternFuncPattern as ExternFuncPattern
from tvms.ir.dpl.leaves import GlobalVarPattern as GlobalVarPattern
from tvms.ir.dpl.leaves import PrimArrPattern as PrimArrPattern
from tvms.ir.dpl.leaves import VarPattern as VarPattern
