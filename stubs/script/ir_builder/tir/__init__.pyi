"""`tvms.script.ir_builder.tir`. Generated from the declarations; do not edit."""

from tvms.dsl.script.ir_builder.tir import Assert as Assert
from tvms.dsl.script.ir_builder.tir import Else as Else
from tvms.dsl.script.ir_builder.tir import If as If
from tvms.dsl.script.ir_builder.tir import Then as Then
from tvms.dsl.script.ir_builder.tir import While as While
from tvms.dsl.script.ir_builder.tir import arg as arg
from tvms.dsl.script.ir_builder.tir import func_name as func_name
from tvms.dsl.script.ir_builder.tir import func_ret as func_ret
from tvms.dsl.script.ir_builder.tir import meta_var as meta_var
from tvms.dsl.script.ir_builder.tir import module as module
from tvms.dsl.script.ir_builder.tir import prim_func as prim_func
