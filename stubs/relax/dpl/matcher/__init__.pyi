"""`tvms.relax.dpl.matcher`. Generated from the declarations; do not edit."""

from tvms.ir.dpl.matcher import Bindings as Bindings
from tvms.ir.dpl.matcher import Matcher as Matcher
