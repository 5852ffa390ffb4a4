"""`tvms.contrib.thrust`. Generated from the declarations; do not edit."""

from tvms.ir.api.contrib.thrust import can_use_thrust as can_use_thrust
