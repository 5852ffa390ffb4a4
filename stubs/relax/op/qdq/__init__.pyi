"""`tvms.relax.op.qdq`. Generated from the declarations; do not edit."""

from tvms.relax.op import *
