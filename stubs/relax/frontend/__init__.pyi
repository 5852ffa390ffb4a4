"""`tvms.relax.frontend`. Generated from the declarations; do not edit."""

from tvms.ir.api.relax.frontend import autopad as autopad
from tvms.ir.api.relax.frontend import detach_params as detach_params
from tvms.relax.frontend import common as common
from tvms.relax.frontend import nn as nn
from tvms.relax.frontend import onnx as onnx
from tvms.relax.frontend import torch as torch
