"""`tvms.relax.op.vm.vm`. Generated from the declarations; do not edit."""

from tvms.relax.op.vm import *
