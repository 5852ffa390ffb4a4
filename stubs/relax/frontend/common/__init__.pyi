"""`tvms.relax.frontend.common`. Generated from the declarations; do not edit."""

from tvms.relax.frontend import *
