"""`tvms.relax.op.memory.memory`. Generated from the declarations; do not edit."""

from tvms.relax.op.memory import *
