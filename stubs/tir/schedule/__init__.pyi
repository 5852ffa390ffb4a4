"""`tvms.tir.schedule`. Generated from the declarations; do not edit."""

from tvms.ir.schedule.handles import BlockRV as BlockRV
from tvms.ir.schedule.handles import ExprRV as ExprRV
from tvms.ir.schedule.handles import LoopRV as LoopRV
from tvms.ir.schedule.schedule import Schedule as Schedule
from tvms.ir.schedule.error import ScheduleError as ScheduleError
from tvms.ir.schedule.trace import Trace as Trace
from tvms.tir.schedule import testing as testing
