"""`tvms.relax.dpl.pattern`. Generated from the declarations; do not edit."""

from tvms.relax.dpl import *
