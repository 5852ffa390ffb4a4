"""`tvms.relax.base_py_module`. Generated from the declarations; do not edit."""

from tvms.ir.api.relax.base_py_module import BasePyModule as BasePyModule
from tvms.ir.api.relax.base_py_module import ModuleFactory as ModuleFactory
from tvms.ir.api.relax.base_py_module import PythonFunction as PythonFunction
