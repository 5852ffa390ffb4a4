"""`tvms import MODEL`: an ONNX or PyTorch model as a program, checked against the model."""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from msgspec import Struct

from ...ir.dtype import is_dtype
from ...ir.sanitize import say
from .files import write_module
from .progress import progress
from .reporting import UsageError

if TYPE_CHECKING:
    from ...ir.base import IRModule
    from ..importers.differences import Difference

_SEED = 0


class Input(Struct, frozen=True):
    """An `--input`; sizes that are names are dynamic."""

    name: str
    sizes: tuple[str, ...]
    dtype: str
    """Empty if it is not given."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes at which the model is tried."""
        return tuple(int(size) if size.isdecimal() else 4 for size in self.sizes)


def run(arguments: argparse.Namespace) -> int:
    """Import a model, compare it with its reference, and write it."""
    inputs = [_input(text) for text in arguments.input]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch warns about its own code
        return (_run_onnx if arguments.model.endswith(".onnx") else _run_torch)(arguments, inputs)


def _run_onnx(arguments: argparse.Namespace, inputs: Sequence[Input]) -> int:
    from ..importers.onnx.compare import compare, random_inputs
    from ..importers.onnx.from_onnx import from_onnx

    shapes = {operand.name: [_size(size) for size in operand.sizes] for operand in inputs}
    dtypes = {operand.name: operand.dtype for operand in inputs if operand.dtype}
    with progress():
        module = from_onnx(arguments.model, shapes, dtypes)
    if arguments.check:
        with progress():
            given = random_inputs(module, _SEED)
            reference, found = compare(arguments.model, module, given, _execute)
        _tell(found, reference)
    write_module(module, "tvms", arguments.output)
    return 0


def _size(size: str) -> int | str:
    return int(size) if size.isdecimal() else size


def _execute(compared: IRModule, arrays: Sequence[Any]) -> Any:
    from ...codegen import compile

    return compile(compared)["main"](*arrays)


def _tell(found: Sequence[Difference], reference: str) -> None:
    """Print the largest differences from a reference."""
    for part in found:
        size = f"with magnitudes up to {part.scale:.3g}"
        if part.noise:
            size += f"; the model amplifies rounding, which explains up to {part.noise:.3g}"
        said = f"'{part.name}' agrees with {reference}: the largest difference is {part.largest:.3g}, {size}"
        say(said, sys.stderr)


def _run_torch(arguments: argparse.Namespace, inputs: Sequence[Input]) -> int:
    program = _program(arguments.model, inputs)
    from ..importers.torch.exported_program import ProgramImporter
    from ..importers.torch.support import prepared

    with progress():
        program = prepared(program, {}, True)
        importer = ProgramImporter(program, False, {})
        importer.name_sizes({operand.name: operand.sizes for operand in inputs})
        module = importer.module(unwrap=False, no_bind=False)
    if arguments.check:
        _check(program, module, inputs)
    write_module(module, "tvms", arguments.output)
    return 0


def _input(text: str) -> Input:
    name, equals, rest = text.partition("=")
    sizes, _, dtype = rest.partition(":")
    parts = tuple(sizes.split("x")) if sizes else ()
    is_valid = equals and name.isidentifier() and all(part.isdecimal() or part.isidentifier() for part in parts)
    if not is_valid or not is_dtype(dtype or "float32"):
        raise UsageError(f"--input '{text}' is not NAME=SIZES:DTYPE", help="write it as x=1x3x224x224:float32")
    return Input(name, parts, dtype)


def _program(model: str, inputs: Sequence[Input]) -> Any:
    """Return the exported program that the command line selects."""
    from ..importers.torch.archive import call_factory, read_archive

    if ":" not in model or model.endswith(".pt2"):
        return read_archive(model)
    say(f"executing '{model}', which is code of your own", sys.stderr)
    made = call_factory(model)
    return made if hasattr(made, "graph_signature") else _exported(model, made, inputs)


def _exported(name: str, made: Any, inputs: Sequence[Input]) -> Any:
    """Export the result of a factory: a module, or a module with the tuple of its inputs."""
    from ..importers.torch.library import library
    from ..importers.torch.recurrent import sequences_of_any_length

    torch: Any = library()
    model, given = cast("tuple[Any, Any]", made) if isinstance(made, tuple) else (made, None)
    if not hasattr(model, "state_dict"):
        raise UsageError(
            f"'{name}' returned {type(model).__name__}",
            help="return a torch.nn.Module, a pair of one and its inputs, or an ExportedProgram",
        )
    if given is None and not inputs:
        raise UsageError(f"'{name}' returned a module without inputs", help="give --input x=1x3x224x224:float32")
    example: Any = given if given is not None else tuple(_zeros(torch, operand) for operand in inputs)
    dims = {size: torch.export.Dim(size) for operand in inputs for size in operand.sizes if not size.isdecimal()}
    shapes = tuple({axis: dims[size] for axis, size in enumerate(operand.sizes) if size in dims} for operand in inputs)
    with sequences_of_any_length():
        return torch.export.export(model.eval(), tuple(example), dynamic_shapes=shapes if dims else None)


def _zeros(torch: Any, given: Input) -> Any:
    return torch.zeros(given.shape, dtype=getattr(torch, given.dtype or "float32"))


def _check(program: Any, module: IRModule, inputs: Sequence[Input]) -> None:
    """Compare the module with torch on random inputs, and print the largest differences."""
    from ..importers.torch.compare import compare, random_inputs

    shapes = {operand.name: operand.shape for operand in inputs}
    with progress():
        found = compare(program, module, random_inputs(program, _SEED, shapes), _execute)
    _tell(found, "torch")
