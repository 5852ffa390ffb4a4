"""`tvms.script.ir_builder`. Generated from the declarations; do not edit."""

from tvms.dsl.script.ir_builder import IRBuilder as IRBuilder
from tvms.script.ir_builder import base as base
from tvms.script.ir_builder import ir as ir
from tvms.script.ir_builder import relax as relax
from tvms.script.ir_builder import tir as tir
