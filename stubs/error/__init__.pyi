"""`tvms.error`. Generated from the declarations; do not edit."""

from tvms.base import *
