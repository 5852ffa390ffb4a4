"""`tvms.meta_schedule.mutator`. Generated from the declarations; do not edit."""

from tvms.codegen.tuner.mutator import MutateComputeLocation as MutateComputeLocation
from tvms.codegen.tuner.mutator import MutateThreadBinding as MutateThreadBinding
from tvms.codegen.tuner.mutator import MutateTileSize as MutateTileSize
from tvms.codegen.tuner.mutator import MutateUnroll as MutateUnroll
from tvms.codegen.tuner.mutator import Mutator as Mutator
from tvms.codegen.tuner.mutator import PyMutator as PyMutator
