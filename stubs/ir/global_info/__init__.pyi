"""`tvms.ir.global_info`. Generated from the declarations; do not edit."""

from tvms.ir import *
