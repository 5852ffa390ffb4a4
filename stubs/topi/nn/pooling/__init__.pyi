"""`tvms.topi.nn.pooling`. Generated from the declarations; do not edit."""

from tvms.topi.nn import *
