"""`tvms.relax.op.ccl.ccl`. Generated from the declarations; do not edit."""

from tvms.relax.op.ccl import *
