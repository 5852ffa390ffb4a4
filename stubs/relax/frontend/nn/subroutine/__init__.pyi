"""`tvms.relax.frontend.nn.subroutine`. Generated from the declarations; do not edit."""

from tvms.ir.nn.subroutine import SubroutineMixin as SubroutineMixin
