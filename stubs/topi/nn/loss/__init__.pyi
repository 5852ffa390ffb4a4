"""`tvms.topi.nn.loss`. Generated from the declarations; do not edit."""

from tvms.topi.nn import *
