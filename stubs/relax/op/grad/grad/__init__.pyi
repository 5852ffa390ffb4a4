"""`tvms.relax.op.grad.grad`. Generated from the declarations; do not edit."""

from tvms.relax.op.grad import *
