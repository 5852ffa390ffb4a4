"""`tvms.contrib.tvmjs`. Generated from the declarations; do not edit."""

from tvms.ir.api.contrib.tvmjs import dump_ndarray_cache as dump_ndarray_cache
from tvms.ir.api.contrib.tvmjs import dump_tensor_cache as dump_tensor_cache
from tvms.ir.api.contrib.tvmjs import load_ndarray_cache as load_ndarray_cache
from tvms.ir.api.contrib.tvmjs import load_tensor_cache as load_tensor_cache
