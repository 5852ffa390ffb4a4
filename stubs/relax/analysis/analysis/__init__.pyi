"""`tvms.relax.analysis.analysis`. Generated from the declarations; do not edit."""

from tvms.relax.analysis import *
