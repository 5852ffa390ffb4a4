"""`tvms.topi.nn.qnn`. Generated from the declarations; do not edit."""

from tvms.topi.nn import *
