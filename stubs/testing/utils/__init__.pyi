"""`tvms.testing.utils`. Generated from the declarations; do not edit."""

from tvms.testing import *
