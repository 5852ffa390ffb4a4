"""`tvms.relax.frontend.onnx.backend`. Generated from the declarations; do not edit."""

from tvms.dsl.importers.onnx.backend import Prepared as Prepared
from tvms.dsl.importers.onnx.backend import Specialized as Specialized
from tvms.dsl.importers.onnx.backend import is_compatible as is_compatible
from tvms.dsl.importers.onnx.backend import prepare as prepare
from tvms.dsl.importers.onnx.backend import prepared as prepared
from tvms.dsl.importers.onnx.backend import run_model as run_model
from tvms.dsl.importers.onnx.backend import run_node as run_node
from tvms.dsl.importers.onnx.backend import supports_device as supports_device
