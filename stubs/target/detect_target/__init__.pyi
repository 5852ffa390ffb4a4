"""`tvms.target.detect_target`. Generated from the declarations; do not edit."""

from tvms.target import *
