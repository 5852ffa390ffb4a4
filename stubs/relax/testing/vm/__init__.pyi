"""`tvms.relax.testing.vm`. Generated from the declarations; do not edit."""

from tvms.ir.api.relax.testing.vm import add as add
from tvms.ir.api.relax.testing.vm import add_scalar as add_scalar
from tvms.ir.api.relax.testing.vm import check_if_defined as check_if_defined
from tvms.ir.api.relax.testing.vm import check_saved_func as check_saved_func
from tvms.ir.api.relax.testing.vm import equal_zero as equal_zero
from tvms.ir.api.relax.testing.vm import get_device_id as get_device_id
from tvms.ir.api.relax.testing.vm import identity_packed as identity_packed
from tvms.ir.api.relax.testing.vm import move as move
from tvms.ir.api.relax.testing.vm import mul as mul
from tvms.ir.api.relax.testing.vm import subtract_one as subtract_one
from tvms.ir.api.relax.testing.vm import tile_packed as tile_packed
