"""`tvms.script.ir_builder.ir`. Generated from the declarations; do not edit."""

from tvms.dsl.script.ir_builder.ir import ir_module as ir_module
from tvms.dsl.script.ir_builder.ir import module_attrs as module_attrs
