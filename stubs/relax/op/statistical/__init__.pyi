"""`tvms.relax.op.statistical`. Generated from the declarations; do not edit."""

from tvms.relax.op import *
