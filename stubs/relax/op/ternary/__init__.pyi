"""`tvms.relax.op.ternary`. Generated from the declarations; do not edit."""

from tvms.relax.op import *
