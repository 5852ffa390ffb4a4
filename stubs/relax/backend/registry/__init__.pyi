"""`tvms.relax.backend.registry`. Generated from the declarations; do not edit."""

from tvms.ir.backend.registry import get_pattern as get_pattern
from tvms.ir.backend.registry import get_patterns_with_prefix as get_patterns_with_prefix
from tvms.ir.backend.registry import register_patterns as register_patterns
