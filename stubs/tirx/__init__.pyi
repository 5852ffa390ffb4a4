"""`tvms.tirx`. Generated from the declarations; do not edit."""

from tvms.tir import *
from tvms.tirx import buffer as buffer
from tvms.tirx import expr as expr
from tvms.tirx import function as function
from tvms.tirx import op as op
from tvms.tirx import stmt as stmt
from tvms.tirx import transform as transform
