"""`tvms.topi.nn.correlation`. Generated from the declarations; do not edit."""

from tvms.topi.nn import *
