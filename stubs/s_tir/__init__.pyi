"""`tvms.s_tir`. Generated from the declarations; do not edit."""

from tvms.tir import *
from tvms.s_tir import dlight as dlight
from tvms.s_tir import meta_schedule as meta_schedule
from tvms.s_tir import schedule as schedule
from tvms.s_tir import tensor_intrin as tensor_intrin
from tvms.s_tir import transform as transform
