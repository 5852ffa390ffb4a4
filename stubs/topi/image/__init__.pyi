"""`tvms.topi.image`. Generated from the declarations; do not edit."""

from tvms.ir.api.topi.image import affine_grid as affine_grid
from tvms.ir.api.topi.image import grid_sample as grid_sample
from tvms.ir.api.topi.image import resize1d as resize1d
from tvms.ir.api.topi.image import resize2d as resize2d
from tvms.ir.api.topi.image import resize3d as resize3d
