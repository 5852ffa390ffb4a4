"""`tvms.relax.op.linear_algebra`. Generated from the declarations; do not edit."""

from tvms.relax.op import *
