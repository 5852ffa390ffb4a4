"""`tvms.tir.specialization`. Generated from the declarations; do not edit."""

from tvms.ir.api.tir.specialization import specialize as specialize
