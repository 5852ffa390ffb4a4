"""`tvms.relax.backend.utils`. Generated from the declarations; do not edit."""

from tvms.ir.passes.fuse_by_pattern import CODEGEN as CODEGEN
from tvms.ir.passes.fuse_by_pattern import COMPOSITE as COMPOSITE
from tvms.ir.passes.fuse_by_pattern import CallRenamer as CallRenamer
from tvms.ir.passes.fuse_by_pattern import FusionPattern as FusionPattern
from tvms.ir.passes.fuse_by_pattern import Given as Given
from tvms.ir.passes.fuse_by_pattern import PatternCheckContext as PatternCheckContext
from tvms.ir.passes.fuse_by_pattern import fuse_ops_by_pattern as fuse_ops_by_pattern
from tvms.ir.passes.fuse_by_pattern import has_leaking_intermediate_variables as has_leaking_intermediate_variables
from tvms.ir.passes.fuse_by_pattern import is_open as is_open
