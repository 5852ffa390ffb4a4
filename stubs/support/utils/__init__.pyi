"""`tvms.support.utils`. Generated from the declarations; do not edit."""

from tvms.contrib.utils import *
