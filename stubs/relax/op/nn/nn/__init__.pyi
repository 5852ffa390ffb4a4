"""`tvms.relax.op.nn.nn`. Generated from the declarations; do not edit."""

from tvms.relax.op.nn import *
