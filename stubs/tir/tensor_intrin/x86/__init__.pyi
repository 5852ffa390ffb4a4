"""`tvms.tir.tensor_intrin.x86`. Generated from the declarations; do not edit."""

from tvms.tir.tensor_intrin import *
