"""`tvms.tir.tensor_intrin.hexagon`. Generated from the declarations; do not edit."""

from tvms.tir.tensor_intrin import *
