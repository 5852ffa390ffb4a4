"""`tvms.contrib`. Generated from the declarations; do not edit."""

from tvms.contrib import cblas as cblas
from tvms.contrib import cc as cc
from tvms.contrib import thrust as thrust
from tvms.contrib import tvmjs as tvmjs
from tvms.contrib import utils as utils
