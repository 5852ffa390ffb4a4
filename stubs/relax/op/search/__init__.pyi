"""`tvms.relax.op.search`. Generated from the declarations; do not edit."""

from tvms.relax.op import *
