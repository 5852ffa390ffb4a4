"""`tvms.topi.nn.depthwise_conv2d`. Generated from the declarations; do not edit."""

from tvms.topi.nn import *
