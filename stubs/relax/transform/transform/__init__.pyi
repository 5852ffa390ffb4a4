"""`tvms.relax.transform.transform`. Generated from the declarations; do not edit."""

from tvms.relax.transform import *
