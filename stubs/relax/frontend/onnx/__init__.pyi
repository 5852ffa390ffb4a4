"""`tvms.relax.frontend.onnx`. Generated from the declarations; do not edit."""

from tvms.dsl.importers.onnx import from_onnx as from_onnx
from tvms.relax.frontend.onnx import backend as backend
