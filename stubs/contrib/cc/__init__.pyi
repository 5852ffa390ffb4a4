"""`tvms.contrib.cc`. Generated from the declarations; do not edit."""

from tvms.ir.api.contrib.cc import create_executable as create_executable
from tvms.ir.api.contrib.cc import create_shared as create_shared
from tvms.ir.api.contrib.cc import create_staticlib as create_staticlib
from tvms.ir.api.contrib.cc import get_cc as get_cc
