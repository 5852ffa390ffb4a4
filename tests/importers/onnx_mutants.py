"""Mutated ONNX models: models of onnx's own suite with changed bytes, or with fields set to unusual values.

    python tests/importers/onnx_mutants.py COUNT [SEED]

imports COUNT mutants and prints what is not an error of tvms: crashes, exceptions, files that were opened, and imports that take long.
"""

from __future__ import annotations

import json
import os
import random
import resource
import select
import signal
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

LIMIT_SECONDS = 10.0
LIMIT_BYTES = 4 << 30
"""Limit of the address space of a worker: the libraries and the suite need most of it."""
_CODE = (".py", ".pyc", ".so")
"""Ends of the names of files that Python imports."""
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
    """Return the models of the suite's node cases, without those with large tensors."""
    from onnx.backend.test.loader import load_model_tests

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # onnx overflows on purpose
        found = [case.model.SerializeToString() for case in load_model_tests(kind="node")]
    return [model for model in found if len(model) < 100_000]


def mutant(sources: Sequence[bytes], number: int, seed: int) -> bytes:
    """Return mutant `number`."""
    chosen = random.Random(f"{seed}/{number}")
    source = chosen.choice(sources)
    return (_with_other_fields if number % 2 else _with_other_bytes)(source, chosen)


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
        setattr(message, field.name, _value(field, chosen))


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


def outcome(contents: bytes, folder: Path, opened: list[str]) -> str:
    """Import a model from a file; return what happened: "imported", the code of the error, or what must not happen."""
    from tvms.ir.diagnostics import TvmsError
    from tvms.relax.frontend.onnx import from_onnx

    path = folder / "m.onnx"
    path.write_bytes(contents)
    opened.clear()
    start = time.process_time()
    try:
        from_onnx(path)
        said = "imported"
    except TvmsError as problem:
        said = problem.diagnostics[0].code
    except Exception as problem:  # what the test looks for
        said = f"BAD {type(problem).__name__}: {str(problem)[:200]}"
    outside = [name for name in opened if not name.startswith(str(folder)) and not name.endswith(_CODE)]
    if outside:
        said = f"BAD opened {outside[0]}"
    if time.process_time() - start > LIMIT_SECONDS:
        said = f"BAD took {time.process_time() - start:.0f} s"
    return said


def worker(numbers: Sequence[int], seed: int, sources: Sequence[bytes], write: Callable[[str], None]) -> None:
    """Import mutants in this process, with limited memory, and write a line for each."""
    opened: list[str] = []

    def audit(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open" and isinstance(arguments[0], str | bytes | Path):
            opened.append(os.fsdecode(arguments[0]))

    sys.addaudithook(audit)
    resource.setrlimit(resource.RLIMIT_AS, (LIMIT_BYTES, LIMIT_BYTES))
    with tempfile.TemporaryDirectory() as folder:
        for number in numbers:
            write(json.dumps([number, outcome(mutant(sources, number, seed), Path(folder), opened)]))


def run(count: int, seed: int, sources: Sequence[bytes]) -> dict[int, str]:
    """Return the outcomes of `count` mutants by their number; a worker that ends is replaced."""
    found: dict[int, str] = {}
    todo = list(range(count))
    while todo:
        reading, writing = os.pipe()
        process = os.fork()
        if process == 0:
            os.close(reading)
            with os.fdopen(writing, "w", buffering=1) as lines:
                worker(todo, seed, sources, lambda line: lines.write(line + "\n") and None)
            os._exit(0)
        os.close(writing)
        with os.fdopen(reading) as lines:
            while todo and select.select([lines], [], [], 6 * LIMIT_SECONDS)[0] and (line := lines.readline()):
                number, said = json.loads(line)
                found[number] = said
                todo.remove(number)
        os.kill(process, signal.SIGKILL)
        _, status = os.waitpid(process, 0)
        if todo:
            found[todo[0]] = f"BAD the process ended, with status {status}, or hung"
            del todo[0]
    return found


def main() -> None:
    """Run mutants and print the outcomes."""
    count, seed = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    found = run(count, seed, models())
    for number, said in sorted(found.items()):
        if said.startswith("BAD"):
            print(f"mutant {number} of seed {seed}: {said}")
    print(Counter(said if not said.startswith("BAD") else "BAD" for said in found.values()))


if __name__ == "__main__":
    main()
