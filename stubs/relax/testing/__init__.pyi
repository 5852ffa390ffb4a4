"""`tvms.relax.testing`. Generated from the declarations; do not edit."""

from tvms.ir.api.relax.testing import dump_ast as dump_ast
from tvms.relax.testing import ast_printer as ast_printer
from tvms.relax.testing import nn as nn
from tvms.relax.testing import runtime_builtin as runtime_builtin
from tvms.relax.testing import transform as transform
from tvms.relax.testing import vm as vm
