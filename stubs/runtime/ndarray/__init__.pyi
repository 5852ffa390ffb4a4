"""`tvms.runtime.ndarray`. Generated from the declarations; do not edit."""

from tvms.nd import *
