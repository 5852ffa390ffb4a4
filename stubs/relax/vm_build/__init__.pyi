"""`tvms.relax.vm_build`. Generated from the declarations; do not edit."""

from tvms.relax.vm import *
