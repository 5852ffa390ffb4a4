"""`tvms.relax.op.builtin.builtin`. Generated from the declarations; do not edit."""

from tvms.relax.op.builtin import *
