"""`tvms.meta_schedule.testing.space_generation`. Generated from the declarations; do not edit."""

from tvms.codegen.tuner.testing.space_generation import Decisions as Decisions
from tvms.codegen.tuner.testing.space_generation import check_sketches as check_sketches
from tvms.codegen.tuner.testing.space_generation import generate_design_space as generate_design_space
from tvms.codegen.tuner.testing.space_generation import get_rules as get_rules
from tvms.codegen.tuner.testing.space_generation import print_sketches as print_sketches
from tvms.codegen.tuner.testing.space_generation import structural_equal_no_gs as structural_equal_no_gs
