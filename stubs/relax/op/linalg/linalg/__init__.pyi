"""`tvms.relax.op.linalg.linalg`. Generated from the declarations; do not edit."""

from tvms.relax.op.linalg import *
