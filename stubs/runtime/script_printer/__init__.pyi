"""`tvms.runtime.script_printer`. Generated from the declarations; do not edit."""

from tvms.runtime import *
