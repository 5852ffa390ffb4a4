"""`tvms.relax.op.create`. Generated from the declarations; do not edit."""

from tvms.relax.op import *
