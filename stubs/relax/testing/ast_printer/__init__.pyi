"""`tvms.relax.testing.ast_printer`. Generated from the declarations; do not edit."""

from tvms.ir.api.relax.testing.ast_printer import ASTPrinter as ASTPrinter
from tvms.ir.api.relax.testing.ast_printer import dump_ast as dump_ast
