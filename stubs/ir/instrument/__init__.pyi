"""`tvms.ir.instrument`. Generated from the declarations; do not edit."""

from tvms.instrument import *
