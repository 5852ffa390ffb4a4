"""`tvms.tir.kinds`. Generated from the declarations; do not edit."""

from tvms.ir.api.tir.kinds import CallEffectKind as CallEffectKind
from tvms.ir.api.tir.kinds import call_tir as call_tir
from tvms.ir.api.tir.kinds import get_vscale_expr as get_vscale_expr
