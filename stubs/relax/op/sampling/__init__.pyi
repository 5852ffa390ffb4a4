"""`tvms.relax.op.sampling`. Generated from the declarations; do not edit."""

from tvms.relax.op import *
