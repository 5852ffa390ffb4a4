"""`tvms.topi.vision`. Generated from the declarations; do not edit."""

from tvms.ir.api.topi.vision import roi_align as roi_align
from tvms.ir.api.topi.vision import roi_pool as roi_pool
