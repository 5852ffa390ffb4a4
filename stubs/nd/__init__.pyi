"""`tvms.nd`. Generated from the declarations; do not edit."""

from tvms.codegen.runtime.ndarray import NDArray as NDArray
from tvms.codegen.runtime.ndarray import array as array
from tvms.codegen.runtime.ndarray import empty as empty
from tvms.codegen.runtime.ndarray import from_dlpack as from_dlpack
from tvms.codegen.runtime.ndarray import unwrap as unwrap
from tvms.codegen.runtime.ndarray import wrap as wrap
