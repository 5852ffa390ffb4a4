"""`tvms.support.cc`. Generated from the declarations; do not edit."""

from tvms.contrib.cc import *
