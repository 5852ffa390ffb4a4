"""`tvms.relax.op.mask`. Generated from the declarations; do not edit."""

from tvms.relax.op import *
