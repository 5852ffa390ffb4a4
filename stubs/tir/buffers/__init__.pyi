"""`tvms.tir.buffers`. Generated from the declarations; do not edit."""

from tvms.ir.api.tir.buffers import access_ptr as access_ptr
from tvms.ir.api.tir.buffers import offset_of as offset_of
