"""`tvms.topi.nn.elemwise`. Generated from the declarations; do not edit."""

from tvms.topi.nn import *
