"""`tvms.relax.op.base`. Generated from the declarations; do not edit."""

from tvms.relax.op import *
