"""`tvms.runtime.object`. Generated from the declarations; do not edit."""

from tvms.runtime import *
