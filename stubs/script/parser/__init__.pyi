"""`tvms.script.parser`. Generated from the declarations; do not edit."""

from tvms.script import *
from tvms.script import tir as tirx
