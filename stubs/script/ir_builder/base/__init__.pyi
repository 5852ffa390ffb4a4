"""`tvms.script.ir_builder.base`. Generated from the declarations; do not edit."""

from tvms.dsl.script.ir_builder.base import IRBuilder as IRBuilder
from tvms.dsl.script.ir_builder.base import Opened as Opened
from tvms.dsl.script.ir_builder.base import PLACE as PLACE
