"""`tvms.tir.data_layout`. Generated from the declarations; do not edit."""

from tvms.tir import *
