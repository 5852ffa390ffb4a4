"""Mutated ONNX models: models of onnx's own suite, and of operators of other domains, with changed bytes, or with fields set to
unusual values.

    python tests/importers/onnx_mutants.py COUNT [SEED [FIRST]]

imports COUNT mutants, each in a process of its own with limited memory and processor time, and compiles and runs those that import. It
prints every outcome other than a tvms error: crashes, other exceptions, opened files, and excess of memory or time.
"""

from __future__ import annotations

import os
import random
import resource
import select
import signal
import sys
import tempfile
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import import_module
from math import ceil, prod
from pathlib import Path
from typing import Any
from unittest.mock import patch

LIMIT_SECONDS = 10
"""Limit of the processor time of the import, of the compilation, and of a run."""
LIMIT_BYTES = 1 << 30
"""Limit of the memory that the import, the compilation and a run of a mutant may take in all."""
MOST_ELEMENTS = 1 << 20
"""Maximum number of elements of an input in a run."""
_CODE = (".py", ".pyc", ".so")
"""Ends of the names of files that Python imports."""
_OF_THE_MACHINE = ("/proc/", "/sys/", "/dev/")
_LOOPS = ("Loop", "Scan")
"""Operators that may run for long, as the model says."""
_INTEGERS = (0, 1, -1, 2, 7, 63, 255, 1 << 31, (1 << 31) - 1, -(1 << 31), (1 << 63) - 1, -(1 << 63), 1 << 40)
_TEXTS = (
    "",
    "x",
    "../secret",
    "/etc/passwd",
    "a" * 300,
    "\N{GREEK SMALL LETTER ALPHA}",
    "If",
    "Loop",
    "com.microsoft",
    "ai.onnx.ml",
    "Reshape",
)


def models() -> list[bytes]:
    """Return the models of the suite's node cases, without those with large tensors, and as many of other domains."""
    from onnx.backend.test.loader import load_model_tests

    # The suite computes the results of its cases, which nobody reads here; those of pools take most of the time.
    with warnings.catch_warnings(), patch("onnx.reference.ops.op_pool_common.pool", _zeros_of_pool):
        warnings.simplefilter("ignore")  # onnx overflows on purpose
        found = [case.model.SerializeToString() for case in load_model_tests(kind="node")]
    suite = [model for model in found if len(model) < 100_000]
    others = [model for model in suite if any(name in model for name in _OBJECTS)] + _models_of_other_domains()
    return [*suite, *(others[place % len(others)] for place in range(len(suite)))]


def _zeros_of_pool(
    padded: Any, x_shape: Sequence[int], kernel: object, strides: object, sizes: Sequence[int], *_: object, **__: object
) -> Any:
    """Return zeros of the shape and dtype of a pool, which has `sizes` positions."""
    from numpy import zeros

    return zeros((*x_shape[:2], *sizes), padded.dtype)


_OBJECTS = (b"Loop", b"Scan", b"If", b"Sequence", b"Optional", b"String", b"ai.onnx")
"""Names in models with control flow, objects and other domains, of which the suite has few."""


def _models_of_other_domains() -> list[bytes]:
    """Return models of nodes of com.microsoft, ai.onnx.ml and ai.onnx.preview.training."""
    from numpy.random import default_rng

    root = str(Path(__file__).parents[2])
    if root not in sys.path:
        sys.path.append(root)
    package = "tests.importers"
    laws, *tests = [
        import_module(f"{package}.{name}") for name in ("onnx_laws", "test_onnx_contributed", "test_onnx_learning")
    ]
    nodes = [node for test in tests for node in test.nodes(default_rng(1))]
    gradient = import_module(f"{package}.test_onnx_gradient").example()
    return [*(laws.model_of(node).SerializeToString() for node in nodes), gradient.SerializeToString()]


def mutant(sources: Sequence[bytes], number: int, seed: int) -> bytes:
    """Return mutant `number`."""
    chosen = random.Random(f"{seed}/{number}")
    source = chosen.choice(sources)
    return (_with_other_fields if number % 4 else _with_other_bytes)(source, chosen)


def _with_other_bytes(source: bytes, chosen: random.Random) -> bytes:
    made = bytearray(source)
    for _ in range(chosen.choice((1, 1, 2, 8))):
        place = chosen.randrange(len(made) + 1)
        end = min(len(made), place + chosen.choice((1, 1, 2, 8, 64)))
        match chosen.randrange(5):
            case 0:
                made[place:end] = chosen.randbytes(end - place)
            case 1:
                del made[place:end]
            case 2:
                made[place:place] = made[place:end] or b"\xff"
            case 3:
                made[place:end] = b"\xff" * (end - place)
            case _:
                del made[place:]
    return bytes(made)


def _with_other_fields(source: bytes, chosen: random.Random) -> bytes:
    import onnx

    model = onnx.ModelProto.FromString(source)
    for _ in range(chosen.choice((1, 1, 2, 5))):
        places = list(_places(model))
        if places:
            message, field = chosen.choice(places)
            _change(message, field, chosen)
    return model.SerializePartialToString()


def _places(message: Any) -> Iterator[tuple[Any, Any]]:
    """Yield all set fields with their messages."""
    for field, value in message.ListFields():
        yield message, field
        if field.message_type is not None:
            for inner in value if _is_repeated(field) else [value]:
                yield from _places(inner)


def _is_repeated(field: Any) -> bool:
    return bool(getattr(field, "is_repeated", False)) or getattr(field, "label", 0) == 3


def _change(message: Any, field: Any, chosen: random.Random) -> None:
    """Set, remove, repeat or swap the values of a field."""
    values = getattr(message, field.name)
    if _is_repeated(field):
        place = chosen.randrange(len(values)) if len(values) else 0
        match chosen.randrange(4):
            case 0 if len(values):
                del values[place]
            case 1 if len(values):
                values.append(values[place])
            case 2 if len(values) > 1:
                other = chosen.randrange(len(values))
                kept = list(values)
                kept[place], kept[other] = kept[other], kept[place]
                copied = (
                    [type(item).FromString(item.SerializeToString()) for item in kept] if field.message_type else kept
                )
                del values[:]
                values.extend(copied)
            case _ if field.message_type is None:
                values.append(_value(field, chosen))
            case _:
                values.add()
    elif field.message_type is not None or chosen.random() < 0.2:
        message.ClearField(field.name)
    else:
        setattr(message, field.name, _changed(message, field, chosen))


def _changed(message: Any, field: Any, chosen: random.Random) -> Any:
    """Return another value for a field: the next number, another operator, or an unusual value."""
    value = getattr(message, field.name)
    if chosen.random() < 0.5 and isinstance(value, int) and -9 < value < 99 and field.enum_type is None:
        return value + chosen.choice((-1, 1)) if value or field.cpp_type == field.CPPTYPE_INT64 else 1
    if field.name == "op_type" and chosen.random() < 0.8:
        return chosen.choice(_OPERATORS)
    return _value(field, chosen)


_OPERATORS = (
    "Add", "Conv", "MatMul", "Gemm", "Concat", "Split", "Slice", "Gather", "Scan", "Loop", "If", "TopK", "Resize", "Pad", "Softmax",
    "ReduceSum", "SequenceAt", "SplitToSequence", "ConcatFromSequence", "Optional", "NonZero", "Unique", "StringConcat", "LSTM",
    "QLinearConv", "DequantizeLinear", "Einsum", "ScatterND", "GridSample", "Attention", "Cast", "Range", "ConstantOfShape",
)  # fmt: skip


def _value(field: Any, chosen: random.Random) -> Any:
    """Return an unusual value for a field."""
    match field.cpp_type:
        case field.CPPTYPE_STRING:
            text = chosen.choice(_TEXTS)
            return text.encode() if field.type == field.TYPE_BYTES else text
        case field.CPPTYPE_FLOAT | field.CPPTYPE_DOUBLE:
            return chosen.choice((0.0, -1.0, float("inf"), float("nan"), 1e30))
        case field.CPPTYPE_ENUM:
            return chosen.choice([value.number for value in field.enum_type.values])
        case field.CPPTYPE_INT32:
            return chosen.choice([n for n in _INTEGERS if -(1 << 31) <= n < 1 << 31])
        case field.CPPTYPE_UINT64 | field.CPPTYPE_UINT32:
            return chosen.choice((0, 1, 255))
        case _:
            return chosen.choice(_INTEGERS)


# --- Execution ------------------------------------------------------------------------------------------------


def outcome(contents: bytes, folder: Path, opened: list[str], report: Callable[[str], None]) -> str:
    """Import, compile and run a model from a file, and report each step before it starts.

    Return what happened: "ran", the code of the error after the step, or what must not happen.
    """
    from tvms.ir.diagnostics import TvmsError

    path = folder / "m.onnx"
    path.write_bytes(contents)
    opened.clear()
    step = ""

    def start(name: str) -> None:
        nonlocal step
        step = name
        report(name)

    try:
        _run(path, start)
        said = "ran"
    except TvmsError as problem:
        said = f"{step} {problem.diagnostics[0].code}"
    except Exception as problem:  # what the test looks for
        place = traceback.extract_tb(problem.__traceback__)[-1]
        said = f"BAD {step}: {type(problem).__name__}: {str(problem)[:200]} ({place.filename}:{place.lineno})"
    known = (str(folder), *_OF_THE_MACHINE, sys.prefix, sys.base_prefix)
    outside = [name for name in opened if not name.startswith(known) and not name.endswith(_CODE)]
    return f"BAD {step}: opened {outside[0]}" if outside else said


def _run(path: Path, start: Callable[[str], None]) -> None:
    """Import, compile and run a model."""
    import onnx
    import tvms
    from tvms.relax.frontend.onnx import from_onnx

    start("import")
    module = from_onnx(path)
    start("compile")
    function = tvms.compile(module, schedule=False, level=0)["main"]
    model = onnx.ModelProto.FromString(path.read_bytes())
    initialized = {initializer.name for initializer in model.graph.initializer}
    inputs = [_argument(given.type) for given in model.graph.input if given.name not in initialized]
    if all(value is not _UNKNOWN for value in inputs):
        start("run")
        function(*inputs)


_UNKNOWN = object()


def _argument(kind: Any) -> Any:
    """Return an argument for an input of a type; unknown sizes are 2."""
    import numpy as np
    from tvms.dsl.importers.onnx.tensors import dtype_name
    from tvms.ir.numpy_dtype import numpy_dtype

    which = kind.WhichOneof("value")
    if which in ("sequence_type", "optional_type"):
        item = _argument(getattr(kind, which).elem_type)
        return item if item is _UNKNOWN or which == "optional_type" else [item, item]
    if which != "tensor_type" or not kind.tensor_type.HasField("shape"):
        return _UNKNOWN
    sizes = [dim.dim_value if dim.HasField("dim_value") else 2 for dim in kind.tensor_type.shape.dim]
    if min(sizes, default=0) < 0 or prod(sizes) > MOST_ELEMENTS:
        return _UNKNOWN
    values = np.arange(prod(sizes)).reshape(sizes) % 5
    if kind.tensor_type.elem_type == 8:
        return values.astype(str).astype(object)
    return values.astype(numpy_dtype(dtype_name(kind.tensor_type.elem_type)))


def _in_child(contents: bytes, folder: Path, write: Callable[[str], None]) -> None:
    """Import, compile and run a model in this process, with limited memory and time, and write the steps and the outcome."""
    opened: list[str] = []

    def audit(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open" and isinstance(arguments[0], str | bytes | Path):
            opened.append(os.fsdecode(arguments[0]))

    def limit(step: str) -> None:
        used = resource.getrusage(resource.RUSAGE_SELF)
        seconds = ceil(used.ru_utime + used.ru_stime) + LIMIT_SECONDS
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, resource.RLIM_INFINITY))
        write(f"step {step}")

    status = Path("/proc/self/status").read_text().splitlines()
    data = next(int(line.split()[1]) for line in status if line.startswith("VmData")) << 10
    resource.setrlimit(resource.RLIMIT_DATA, (data + LIMIT_BYTES, data + LIMIT_BYTES))
    sys.addaudithook(audit)
    write(f"said {outcome(contents, folder, opened, limit)}")


def isolated(contents: bytes) -> str:
    """Return the outcome of a model in a process of its own."""
    reading, writing = os.pipe()
    with tempfile.TemporaryDirectory() as folder:
        process = os.fork()
        if process == 0:
            os.close(reading)
            with os.fdopen(writing, "w", buffering=1) as lines:
                _in_child(contents, Path(folder), lambda line: print(line, file=lines))
            os._exit(0)
        os.close(writing)
        step, said = "start", ""
        with os.fdopen(reading) as lines:
            while select.select([lines], [], [], 30 * LIMIT_SECONDS)[0] and (line := lines.readline()):
                word, _, rest = line.rstrip("\n").partition(" ")
                step, said = (rest, said) if word == "step" else (step, rest)
        os.kill(process, signal.SIGKILL)
        _, status = os.waitpid(process, 0)
    if said:
        return said
    if step == "run" and os.WTERMSIG(status) == signal.SIGXCPU and any(name.encode() in contents for name in _LOOPS):
        return "run endless"
    return f"BAD {step}: the process ended with status {status}, or hung"


def warm_up() -> None:
    """Load what compilation needs, so that the processes of mutants share it."""
    import tvms

    module = tvms.parse('R.function main(x: R.Tensor((2,), "float32")):\n    y = R.add(x, x)\n    return y\n')
    tvms.compile(module, schedule=False, level=0)


def run(numbers: Iterable[int], seed: int, sources: Sequence[bytes]) -> dict[int, str]:
    """Return the outcomes of mutants by their numbers."""
    warm_up()
    return {number: isolated(mutant(sources, number, seed)) for number in numbers}


def main() -> None:
    """Run mutants and print the outcomes."""
    count, seed, first = (int(text) for text in (*sys.argv[1:], *("0", "0")[len(sys.argv) - 2 :]))
    sources, found = models(), Counter[str]()
    warm_up()
    for number in range(first, first + count):
        said = isolated(mutant(sources, number, seed))
        found[" ".join(said.split()[:2])] += 1
        if said.startswith("BAD"):
            print(f"mutant {number} of seed {seed}: {said}", flush=True)
    print(found)


if __name__ == "__main__":
    main()
