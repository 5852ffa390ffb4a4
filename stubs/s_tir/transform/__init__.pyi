"""`tvms.s_tir.transform`. Generated from the declarations; do not edit."""

from tvms.tir.transform import *
