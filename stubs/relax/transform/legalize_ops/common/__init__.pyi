"""`tvms.relax.transform.legalize_ops.common`. Generated from the declarations; do not edit."""

from tvms.relax.transform.legalize_ops import *
