"""`tvms.tir.intrinsics`. Generated from the declarations; do not edit."""

from tvms.ir.api.tir.intrinsics import call_intrin as call_intrin
from tvms.ir.api.tir.intrinsics import intrinsic as intrinsic
