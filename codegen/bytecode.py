"""Programs of instructions for the virtual machine, written one by one (TVM: `relax.ExecBuilder`)."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

import numpy as np
from msgspec import Struct

from ..ir.base import IRModule
from ..ir.diagnostics import error
from ..ir.functions import find_function
from ..ir.sanitize import visible
from .graph.home import HOST, Home


class Register(Struct, frozen=True):
    """A variable of a function, by its number."""

    number: int

    def __str__(self) -> str:
        return f"r{self.number}"


class Constant(Struct, frozen=True):
    """A value of the program, by its place in the table of constants."""

    place: int

    def __str__(self) -> str:
        return f"c{self.place}"


class FunctionName(Struct, frozen=True):
    """A function of the program, or else a registered one."""

    name: str

    def __str__(self) -> str:
        return f"f[{self.name}]"


class MachineState(Struct, frozen=True):
    """The virtual machine that runs the program."""

    def __str__(self) -> str:
        return "vm"


Argument: TypeAlias = Register | Constant | FunctionName | MachineState | int


class CallInstruction(Struct, frozen=True):
    """Call `name`, and keep its result in `dst`."""

    name: str
    args: tuple[Argument, ...]
    dst: Register | None

    def __str__(self) -> str:
        target = f"{self.dst} = " if self.dst else ""
        return f"{target}call {visible(self.name)}({', '.join(map(str, self.args))})"


class Return(Struct, frozen=True):
    """Return a register."""

    result: Register

    def __str__(self) -> str:
        return f"ret {self.result}"


class Goto(Struct, frozen=True):
    """Continue `offset` instructions further."""

    offset: int

    def __str__(self) -> str:
        return f"goto {self.offset:+}"


class Branch(Struct, frozen=True):
    """Continue with the next instruction if `cond` is true, else `false_offset` instructions further."""

    cond: Register
    false_offset: int

    def __str__(self) -> str:
        return f"if {self.cond} else goto {self.false_offset:+}"


Instruction: TypeAlias = CallInstruction | Return | Goto | Branch


class Code(Struct):
    """A function: its parameters are the first registers."""

    name: str
    params: tuple[str, ...]
    instructions: list[Instruction] = []


class ExecBuilder:
    """Builds a program of instructions.

        builder = relax.ExecBuilder()
        with builder.function("main", num_inputs=2):
            builder.emit_call("test.vm.add", [builder.r(0), builder.r(1)], dst=builder.r(2))
            builder.emit_ret(builder.r(2))
        vm = relax.VirtualMachine(builder.get(), tvms.cpu())

    Misuse raises RuntimeError; `get` raises TvmsError E0709 for a register that may have no value where it is used.
    """

    def __init__(self) -> None:
        self._functions: dict[str, Code] = {}
        self._open: Code | None = None
        self._constants: list[Any] = []
        self.module: IRModule | None = None
        """The module whose functions a program consists of, if it was not built by instructions."""

    # --- Arguments

    def r(self, idx: int) -> Register:
        """Return a register."""
        return Register(idx)

    def imm(self, value: int) -> int:
        """Return an integer as an argument."""
        return value

    def c(self, idx: int) -> Constant:
        """Return a constant by its place in the table."""
        return Constant(idx)

    def f(self, name: str) -> FunctionName:
        """Return a function as an argument."""
        return FunctionName(name)

    def vm_state(self) -> MachineState:
        """Return the machine as an argument."""
        return MachineState()

    def convert_constant(self, const: object) -> Argument:
        """Return the constant `const`; equal ones are stored once."""
        if type(const) is int:
            return const
        value = tuple(const) if isinstance(const, list) else const  # type: ignore[reportUnknownArgumentType]
        for place, known in enumerate(self._constants):
            if _is_same(known, value):
                return Constant(place)
        self._constants.append(value)
        return Constant(len(self._constants) - 1)

    # --- Instructions

    @contextmanager
    def function(
        self, func_name: str, num_inputs: int | None = 0, param_names: Sequence[str] | None = None
    ) -> Generator[None]:
        """Build the function `func_name` in a `with`."""
        names = param_names or [f"p{number}" for number in range(num_inputs or 0)]
        self._open = Code(func_name, tuple(names))
        try:
            yield
            self._functions[func_name] = self._open
        finally:
            self._open = None

    def _emit(self, instruction: Instruction) -> None:
        if self._open is None:
            raise RuntimeError("no function is being built; open one: with builder.function(name, num_inputs):")
        self._open.instructions.append(instruction)

    def emit_call(self, name: str, args: Sequence[Any] | None = None, dst: Register | None = None) -> None:
        """Call a function of the program or a registered one; arguments that are plain values become constants."""
        given = [arg if isinstance(arg, Argument) else self.convert_constant(arg) for arg in args or ()]
        self._emit(CallInstruction(name, tuple(given), dst))

    def emit_ret(self, result: Register) -> None:
        """Return a register."""
        self._emit(Return(result))

    def emit_goto(self, pc_offset: int) -> None:
        """Continue `pc_offset` instructions further."""
        self._emit(Goto(pc_offset))

    def emit_if(self, cond: Register, false_offset: int) -> None:
        """Continue with the next instruction if `cond` is true, else `false_offset` instructions further."""
        self._emit(Branch(cond, false_offset))

    def get(self) -> Bytecode:
        """Return the program, with its registers numbered in the order in which they get values."""
        return Bytecode([_numbered(code) for code in self._functions.values()], list(self._constants))


def _is_same(a: Any, b: Any) -> bool:
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()  # type: ignore[reportUnknownMemberType]
    return bool(a == b)


def _numbered(code: Code) -> Code:
    """Return a function with its registers renumbered; E0709 if one may be used before it gets a value."""
    numbers = {number: number for number in range(len(code.params))}

    def new(arg: Argument) -> Argument:
        if not isinstance(arg, Register):
            return arg
        if arg.number not in numbers:
            help = "call a function with dst set to this register first"
            raise error("E0709", f"register {arg.number} of function '{code.name}' has no value", None, help)
        return Register(numbers[arg.number])

    instructions: list[Instruction] = []
    for item in code.instructions:
        match item:
            case CallInstruction(name, args, dst):
                given = tuple(map(new, args))
                if dst is not None:
                    numbers.setdefault(dst.number, len(numbers))
                instructions.append(CallInstruction(name, given, dst and Register(numbers[dst.number])))
            case Return(result):
                instructions.append(Return(Register(numbers[result.number]) if new(result) else result))
            case Branch(cond, offset):
                instructions.append(Branch(Register(numbers[cond.number]) if new(cond) else cond, offset))
            case Goto():
                instructions.append(item)
    return Code(code.name, code.params, instructions)


class Bytecode:
    """A program of instructions; `program["main"](x)` runs a function."""

    def __init__(self, functions: Sequence[Code], constants: list[Any]) -> None:
        self.functions = {code.name: code for code in functions}
        self.constants = constants
        self.module = IRModule({})
        self.home: Home = HOST

    def __iter__(self) -> Iterator[str]:
        return iter(self.functions)

    def __contains__(self, name: object) -> bool:
        return name in self.functions

    def __getitem__(self, name: str) -> Callable[..., Any]:
        """Return a function; E0102 if there is none."""
        if name not in self.functions:
            raise error("E0102", f"the program has no function '{name}'", None, f"it has {', '.join(self.functions)}")
        return lambda *args: self._run(self.functions[name], args)

    def _run(self, code: Code, args: Sequence[Any]) -> Any:
        if len(args) != len(code.params):
            raise error("E0701", f"'{code.name}' takes {len(code.params)} arguments, but {len(args)} are given")
        registers = dict(enumerate(args))
        place = 0
        while place < len(code.instructions):
            step = 1
            match code.instructions[place]:
                case CallInstruction(name, given, dst):
                    result = self._function(name)(*[self._value(arg, registers) for arg in given])
                    if dst is not None:
                        registers[dst.number] = result
                case Return(result):
                    return registers[result.number]
                case Goto(offset):
                    step = offset
                case Branch(cond, offset):
                    step = 1 if np.asarray(registers[cond.number]).item() else offset
            place += step
        return None

    def _function(self, name: str) -> Callable[..., Any]:
        return self[name] if name in self.functions else find_function(name)

    def _value(self, arg: Argument, registers: dict[int, Any]) -> Any:
        match arg:
            case Register(number):
                return registers[number]
            case Constant(place):
                return self.constants[place]
            case FunctionName(name):
                return self._function(name)
            case MachineState():
                return self
            case _:
                return arg

    def as_text(self) -> str:
        """Return the program as text, one instruction a line."""
        return "\n\n".join(_text(code) for code in self.functions.values()) + "\n"

    def stats(self) -> str:
        """Return the numbers of functions, constants and instructions."""
        count = sum(len(code.instructions) for code in self.functions.values())
        return f"{len(self.functions)} functions, {len(self.constants)} constants, {count} instructions"


def _text(code: Code) -> str:
    params = ", ".join(f"r{place}: {visible(name)}" for place, name in enumerate(code.params))
    return "\n".join([f"{visible(code.name)}({params}):", *[f"    {item}" for item in code.instructions]])
