"""`tvms.relax.dpl.function_patterns`. Generated from the declarations; do not edit."""

from tvms.ir.dpl.function_patterns import pattern_of as pattern_of
