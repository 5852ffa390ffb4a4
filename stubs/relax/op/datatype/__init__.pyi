"""`tvms.relax.op.datatype`. Generated from the declarations; do not edit."""

from tvms.relax.op import *
