"""`tvms.tir.stmt`. Generated from the declarations; do not edit."""

from tvms.tir import *
