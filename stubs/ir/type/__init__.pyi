"""`tvms.ir.type`. Generated from the declarations; do not edit."""

from tvms.ir import *
