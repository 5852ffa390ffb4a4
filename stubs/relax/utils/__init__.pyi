"""`tvms.relax.utils`. Generated from the declarations; do not edit."""

from tvms.ir.api.relax.utils import args_converter as args_converter
from tvms.ir.api.relax.utils import convert_to_expr as convert_to_expr
from tvms.ir.api.relax.utils import copy_with_new_vars as copy_with_new_vars
