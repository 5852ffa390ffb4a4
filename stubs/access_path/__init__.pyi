"""`tvms.access_path`. Generated from the declarations; do not edit."""

from tvms.ir.api.access_path import AccessPath as AccessPath
from tvms.ir.api.access_path import ObjectPath as ObjectPath
from tvms.ir.api.access_path import get_first_structural_mismatch as get_first_structural_mismatch
