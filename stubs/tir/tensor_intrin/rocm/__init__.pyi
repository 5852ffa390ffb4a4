"""`tvms.tir.tensor_intrin.rocm`. Generated from the declarations; do not edit."""

from tvms.tir.tensor_intrin import *
