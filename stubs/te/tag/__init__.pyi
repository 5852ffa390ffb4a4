"""`tvms.te.tag`. Generated from the declarations; do not edit."""

from tvms.te import *
