"""`tvms.runtime.executable`. Generated from the declarations; do not edit."""

from tvms.codegen.runtime.executable import Executable as Executable
from tvms.codegen.runtime.executable import build_image as build_image
from tvms.codegen.runtime.executable import compile as compile
from tvms.codegen.runtime.executable import emit as emit
from tvms.codegen.runtime.executable import link_built as link_built
from tvms.codegen.runtime.executable import load_compiled as load_compiled
from tvms.codegen.runtime.executable import load_module as load_module
from tvms.codegen.runtime.executable import prim_entry as prim_entry
