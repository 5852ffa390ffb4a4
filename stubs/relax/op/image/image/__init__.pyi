"""`tvms.relax.op.image.image`. Generated from the declarations; do not edit."""

from tvms.relax.op.image import *
