"""`tvms.s_tir.dlight`. Generated from the declarations; do not edit."""

from tvms.dlight import *
