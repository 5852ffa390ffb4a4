"""`tvms.relax.op.index`. Generated from the declarations; do not edit."""

from tvms.relax.op import *
