"""`tvms.relax.op.binary`. Generated from the declarations; do not edit."""

from tvms.relax.op import *
