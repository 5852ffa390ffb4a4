"""`tvms.relax.layouts`. Generated from the declarations; do not edit."""

from tvms.ir.api.relax.layouts import Suggestions as Suggestions
from tvms.ir.api.relax.layouts import suggest_layout_transforms as suggest_layout_transforms
