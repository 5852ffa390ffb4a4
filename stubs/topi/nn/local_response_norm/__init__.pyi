"""`tvms.topi.nn.local_response_norm`. Generated from the declarations; do not edit."""

from tvms.topi.nn import *
