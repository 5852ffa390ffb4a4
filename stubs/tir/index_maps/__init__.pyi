"""`tvms.tir.index_maps`. Generated from the declarations; do not edit."""

from tvms.ir.tir import IndexMap as IndexMap
from tvms.ir.api.tir.index_maps import inverse as inverse
from tvms.ir.api.tir.index_maps import is_equivalent_to as is_equivalent_to
from tvms.ir.api.tir.index_maps import map_indices as map_indices
from tvms.ir.api.tir.index_maps import map_ndarray as map_ndarray
from tvms.ir.api.tir.index_maps import map_shape as map_shape
from tvms.ir.api.tir.index_maps import non_surjective_inverse as non_surjective_inverse
