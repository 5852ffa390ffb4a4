"""`tvms.runtime.vm`. Generated from the declarations; do not edit."""

from tvms.relax.vm import *
