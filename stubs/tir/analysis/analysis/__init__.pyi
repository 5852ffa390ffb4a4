"""`tvms.tir.analysis.analysis`. Generated from the declarations; do not edit."""

from tvms.tir.analysis import *
