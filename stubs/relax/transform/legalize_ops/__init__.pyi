"""`tvms.relax.transform.legalize_ops`. Generated from the declarations; do not edit."""

from tvms.ir.passes.legalize_ops import LegalizeFunc as LegalizeFunc
from tvms.ir.passes.legalize_ops import legalize_only as legalize_only
from tvms.ir.passes.legalize_ops import legalize_ops as legalize_ops
from tvms.ir.passes.legalize_ops import lowered_call as lowered_call
from tvms.ir.passes.legalize_ops import register_legalize as register_legalize
from tvms.ir.passes.legalize_ops import unregister_legalize as unregister_legalize
from tvms.relax.transform.legalize_ops import common as common
