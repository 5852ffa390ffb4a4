"""`tvms.runtime.support`. Generated from the declarations; do not edit."""

from tvms.runtime import *
