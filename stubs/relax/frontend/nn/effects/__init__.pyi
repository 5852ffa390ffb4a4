"""`tvms.relax.frontend.nn.effects`. Generated from the declarations; do not edit."""

from tvms.ir.nn.effects import Effect as Effect
from tvms.ir.nn.effects import IOEffect as IOEffect
from tvms.ir.nn.effects import KVCache as KVCache
from tvms.ir.nn.effects import io_effect as io_effect
from tvms.ir.nn.effects import vm_builtins as vm_builtins
