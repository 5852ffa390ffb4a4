"""`tvms.meta_schedule.tune_context`. Generated from the declarations; do not edit."""

from tvms.codegen.tuner.tune_context import EvolutionarySearch as EvolutionarySearch
from tvms.codegen.tuner.tune_context import Grid as Grid
from tvms.codegen.tuner.tune_context import MeasureCandidate as MeasureCandidate
from tvms.codegen.tuner.tune_context import ReplayFunc as ReplayFunc
from tvms.codegen.tuner.tune_context import ReplayTrace as ReplayTrace
from tvms.codegen.tuner.tune_context import SearchStrategy as SearchStrategy
from tvms.codegen.tuner.tune_context import TuneContext as TuneContext
from tvms.codegen.tuner.tune_context import create as create
