"""`tvms.relax.frontend.nn.llm.texts`. Generated from the declarations; do not edit."""

from tvms.ir.nn.llm.texts import Rotation as Rotation
from tvms.ir.nn.llm.texts import kernel as kernel
