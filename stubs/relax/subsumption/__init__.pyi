"""`tvms.relax.subsumption`. Generated from the declarations; do not edit."""

from tvms.ir.api.relax.subsumption import BaseCheckResult as BaseCheckResult
from tvms.ir.api.relax.subsumption import struct_info_base_check as struct_info_base_check
