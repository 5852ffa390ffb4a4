"""`tvms.ir.container`. Generated from the declarations; do not edit."""

from tvms.ir import *
