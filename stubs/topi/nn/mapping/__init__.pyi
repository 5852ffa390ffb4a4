"""`tvms.topi.nn.mapping`. Generated from the declarations; do not edit."""

from tvms.topi.nn import *
