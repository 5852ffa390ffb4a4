"""`tvms.relax.type`. Generated from the declarations; do not edit."""

from tvms.relax.ty import *
