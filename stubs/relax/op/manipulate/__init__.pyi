"""`tvms.relax.op.manipulate`. Generated from the declarations; do not edit."""

from tvms.relax.op import *
