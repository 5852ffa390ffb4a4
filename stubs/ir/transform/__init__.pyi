"""`tvms.ir.transform`. Generated from the declarations; do not edit."""

from tvms.transform import *
