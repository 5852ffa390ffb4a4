"""`tvms.ir.function`. Generated from the declarations; do not edit."""

from tvms.ir import *
