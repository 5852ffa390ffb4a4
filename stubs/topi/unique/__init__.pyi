"""`tvms.topi.unique`. Generated from the declarations; do not edit."""

from tvms.topi import *
