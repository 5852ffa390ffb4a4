"""`tvms.s_tir.schedule`. Generated from the declarations; do not edit."""

from tvms.tir.schedule import *
from tvms.s_tir.schedule import testing as testing
