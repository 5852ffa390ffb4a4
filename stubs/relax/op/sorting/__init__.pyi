"""`tvms.relax.op.sorting`. Generated from the declarations; do not edit."""

from tvms.relax.op import *
