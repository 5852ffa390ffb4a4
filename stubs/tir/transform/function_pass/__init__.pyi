"""`tvms.tir.transform.function_pass`. Generated from the declarations; do not edit."""

from tvms.tir.transform import *
