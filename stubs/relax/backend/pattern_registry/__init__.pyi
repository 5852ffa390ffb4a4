"""`tvms.relax.backend.pattern_registry`. Generated from the declarations; do not edit."""

from tvms.relax.backend.registry import *
