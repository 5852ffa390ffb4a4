"""`tvms.relax.frontend.nn.exporter`. Generated from the declarations; do not edit."""

from tvms.ir.nn.exporter import Exporter as Exporter
from tvms.ir.nn.exporter import add_extern as add_extern
