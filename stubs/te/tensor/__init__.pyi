"""`tvms.te.tensor`. Generated from the declarations; do not edit."""

from tvms.te import *
