"""`tvms.relax.op.vision.vision`. Generated from the declarations; do not edit."""

from tvms.relax.op.vision import *
