"""`tvms.relax.variables`. Generated from the declarations; do not edit."""

from tvms.ir.api.relax.variables import all_global_vars as all_global_vars
from tvms.ir.api.relax.variables import all_vars as all_vars
from tvms.ir.api.relax.variables import bound_vars as bound_vars
from tvms.ir.api.relax.variables import defined_symbolic_vars as defined_symbolic_vars
from tvms.ir.api.relax.variables import free_symbolic_vars as free_symbolic_vars
from tvms.ir.api.relax.variables import free_vars as free_vars
from tvms.ir.api.relax.variables import get_var2val as get_var2val
from tvms.ir.api.relax.variables import name_to_binding as name_to_binding
from tvms.ir.api.relax.variables import udchain as udchain
from tvms.ir.api.relax.variables import used_vars as used_vars
