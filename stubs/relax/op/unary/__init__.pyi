"""`tvms.relax.op.unary`. Generated from the declarations; do not edit."""

from tvms.relax.op import *
