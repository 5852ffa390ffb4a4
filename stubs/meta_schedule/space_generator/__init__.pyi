"""`tvms.meta_schedule.space_generator`. Generated from the declarations; do not edit."""

from tvms.codegen.tuner.space_generator import PostOrderApply as PostOrderApply
from tvms.codegen.tuner.space_generator import PySpaceGenerator as PySpaceGenerator
from tvms.codegen.tuner.space_generator import ScheduleFn as ScheduleFn
from tvms.codegen.tuner.space_generator import SpaceGenerator as SpaceGenerator
from tvms.codegen.tuner.space_generator import SpaceGeneratorUnion as SpaceGeneratorUnion
from tvms.codegen.tuner.space_generator import create as create
from tvms.codegen.tuner.space_generator import generated_spaces as generated_spaces
from tvms.codegen.tuner.space_generator import space_texts as space_texts
