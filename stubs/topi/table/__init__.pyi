"""`tvms.topi.table`. Generated from the declarations; do not edit."""

from tvms.ir.api.topi.table import ROWS as ROWS
from tvms.ir.api.topi.table import Row as Row
from tvms.ir.api.topi.table import function as function
