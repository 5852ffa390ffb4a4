"""`tvms.relax.struct_info`. Generated from the declarations; do not edit."""

from tvms.relax.ty import *
