"""`tvms.relax.frontend.nn.visitor`. Generated from the declarations; do not edit."""

from tvms.ir.nn.visitor import Mutator as Mutator
