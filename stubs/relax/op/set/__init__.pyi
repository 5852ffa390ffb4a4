"""`tvms.relax.op.set`. Generated from the declarations; do not edit."""

from tvms.relax.op import *
