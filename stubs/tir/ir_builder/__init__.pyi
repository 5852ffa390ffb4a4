"""`tvms.tir.ir_builder`. Generated from the declarations; do not edit."""

from tvms.ir.api.tir.ir_builder import BufferVar as BufferVar
from tvms.ir.api.tir.ir_builder import IRBuilder as IRBuilder
from tvms.ir.api.tir.ir_builder import create as create
