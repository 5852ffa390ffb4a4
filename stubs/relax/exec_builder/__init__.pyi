"""`tvms.relax.exec_builder`. Generated from the declarations; do not edit."""

from tvms.codegen.bytecode import Argument as Argument
from tvms.codegen.bytecode import Branch as Branch
from tvms.codegen.bytecode import Bytecode as Bytecode
from tvms.codegen.bytecode import CallInstruction as CallInstruction
from tvms.codegen.bytecode import Code as Code
from tvms.codegen.bytecode import Constant as Constant
from tvms.codegen.bytecode import ExecBuilder as ExecBuilder
from tvms.codegen.bytecode import FunctionName as FunctionName
from tvms.codegen.bytecode import Goto as Goto
from tvms.codegen.bytecode import Instruction as Instruction
from tvms.codegen.bytecode import MachineState as MachineState
from tvms.codegen.bytecode import Register as Register
from tvms.codegen.bytecode import Return as Return
