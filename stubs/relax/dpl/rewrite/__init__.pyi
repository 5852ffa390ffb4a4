"""`tvms.relax.dpl.rewrite`. Generated from the declarations; do not edit."""

from tvms.ir.dpl.rewrite import BindingsRewriter as BindingsRewriter
from tvms.ir.dpl.rewrite import rewrite_bindings as rewrite_bindings
from tvms.ir.dpl.rewrite import rewrite_call as rewrite_call
