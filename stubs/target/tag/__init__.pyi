"""`tvms.target.tag`. Generated from the declarations; do not edit."""

from tvms.target import *
