"""`tvms.relax.testing.nn`. Generated from the declarations; do not edit."""

from tvms.ir.api.relax.testing.nn import Linear as Linear
from tvms.ir.api.relax.testing.nn import LogSoftmax as LogSoftmax
from tvms.ir.api.relax.testing.nn import Module as Module
from tvms.ir.api.relax.testing.nn import Parameter as Parameter
from tvms.ir.api.relax.testing.nn import Placeholder as Placeholder
from tvms.ir.api.relax.testing.nn import ReLU as ReLU
from tvms.ir.api.relax.testing.nn import Sequential as Sequential
from tvms.ir.api.relax.testing.nn import checkpoint as checkpoint
from tvms.ir.api.relax.testing.nn import emit as emit
from tvms.ir.api.relax.testing.nn import emit_checkpoint as emit_checkpoint
from tvms.ir.api.relax.testing.nn import emit_checkpoint_sequential as emit_checkpoint_sequential
from tvms.ir.api.relax.testing.nn import emit_te as emit_te
from tvms.ir.api.relax.testing.nn import init_params as init_params
