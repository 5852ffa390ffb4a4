"""`tvms.relax.backend`. Generated from the declarations; do not edit."""

from tvms.ir.backend import DispatchSampling as DispatchSampling
from tvms.ir.backend import DispatchSortScan as DispatchSortScan
from tvms.ir.backend import get_pattern as get_pattern
from tvms.ir.backend import get_patterns_with_prefix as get_patterns_with_prefix
from tvms.ir.backend import register_patterns as register_patterns
from tvms.relax.backend import blas as blas
from tvms.relax.backend import cuda as cuda
from tvms.relax.backend import external as external
from tvms.relax.backend import pattern_registry as pattern_registry
from tvms.relax.backend import patterns as patterns
from tvms.relax.backend import registry as registry
from tvms.relax.backend import utils as utils
