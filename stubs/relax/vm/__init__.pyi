"""`tvms.relax.vm`. Generated from the declarations; do not edit."""

from tvms.codegen.virtual_machine import Call as Call
from tvms.codegen.virtual_machine import ExecBuilder as ExecBuilder
from tvms.codegen.virtual_machine import VMExecutable as VMExecutable
from tvms.codegen.virtual_machine import VMInstrumentReturnKind as VMInstrumentReturnKind
from tvms.codegen.virtual_machine import VirtualMachine as VirtualMachine
from tvms.codegen.virtual_machine import build as build
from tvms.codegen.virtual_machine import vm_builtins as vm_builtins
