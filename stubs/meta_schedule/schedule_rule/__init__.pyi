"""`tvms.meta_schedule.schedule_rule`. Generated from the declarations; do not edit."""

from tvms.codegen.tuner.schedule_rule import AddRFactor as AddRFactor
from tvms.codegen.tuner.schedule_rule import ApplyCustomRule as ApplyCustomRule
from tvms.codegen.tuner.schedule_rule import AutoBind as AutoBind
from tvms.codegen.tuner.schedule_rule import AutoInline as AutoInline
from tvms.codegen.tuner.schedule_rule import CrossThreadReduction as CrossThreadReduction
from tvms.codegen.tuner.schedule_rule import InlineConstantScalars as InlineConstantScalars
from tvms.codegen.tuner.schedule_rule import MultiLevelTiling as MultiLevelTiling
from tvms.codegen.tuner.schedule_rule import MultiLevelTilingWithIntrin as MultiLevelTilingWithIntrin
from tvms.codegen.tuner.schedule_rule import ParallelizeVectorizeUnroll as ParallelizeVectorizeUnroll
from tvms.codegen.tuner.schedule_rule import PyScheduleRule as PyScheduleRule
from tvms.codegen.tuner.schedule_rule import RandomComputeLocation as RandomComputeLocation
from tvms.codegen.tuner.schedule_rule import ReuseType as ReuseType
from tvms.codegen.tuner.schedule_rule import ScheduleRule as ScheduleRule
