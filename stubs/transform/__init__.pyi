"""`tvms.transform`. Generated from the declarations; do not edit."""

from tvms.ir.passes.transform import ApplyPassToFunction as ApplyPassToFunction
from tvms.ir.passes.transform import Pass as Pass
from tvms.ir.passes.transform import PassContext as PassContext
from tvms.ir.passes.transform import PrintIR as PrintIR
from tvms.ir.passes.transform import Sequential as Sequential
from tvms.ir.passes.transform import Wrap as Wrap
from tvms.ir.passes.transform import announce as announce
from tvms.ir.passes.transform import dataflowblock_pass as dataflowblock_pass
from tvms.ir.passes.transform import declare_pass as declare_pass
from tvms.ir.passes.transform import function_pass as function_pass
from tvms.ir.passes.transform import get_pass as get_pass
from tvms.ir.passes.transform import map_functions as map_functions
from tvms.ir.passes.transform import module_pass as module_pass
from tvms.ir.passes.transform import observed as observed
from tvms.ir.passes.transform import passes as passes
from tvms.ir.passes.transform import prim_func_pass as prim_func_pass
