"""`tvms.contrib.cblas`. Generated from the declarations; do not edit."""

from tvms.ir.api.contrib.cblas import batch_matmul as batch_matmul
from tvms.ir.api.contrib.cblas import matmul as matmul
