"""`tvms.support`. Generated from the declarations; do not edit."""

from tvms.contrib import *
from tvms.support import cc as cc
from tvms.support import utils as utils
