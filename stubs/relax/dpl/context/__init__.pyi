"""`tvms.relax.dpl.context`. Generated from the declarations; do not edit."""

from tvms.ir.dpl.context import Match as Match
from tvms.ir.dpl.context import Pattern as Pattern
from tvms.ir.dpl.context import PatternContext as PatternContext
from tvms.ir.dpl.context import PatternSequence as PatternSequence
from tvms.ir.dpl.context import Use as Use
