"""`tvms.relax.testing.runtime_builtin`. Generated from the declarations; do not edit."""

from tvms.ir.api.relax.testing.runtime_builtin import MakeShapeCode as MakeShapeCode
from tvms.ir.api.relax.testing.runtime_builtin import MatchShapeCode as MatchShapeCode
