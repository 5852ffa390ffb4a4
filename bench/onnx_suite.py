"""How many cases of onnx's own test suite (`onnx.backend.test`) pass.

    python bench/onnx_suite.py [-k REGEX] [--op OPERATOR] [--kind KIND] [--mode MODE] [--json FILE]

Each case is a model with inputs and outputs; a case passes if the outputs have the expected dtypes and shapes, and are within
the tolerance of the suite. Cases run one by one in a worker process, which is replaced when it ends or exceeds the time limit.
`--mode compile` is how programs run; `--mode O0` compiles without default schedules and optimizations of LLVM, and
`--mode interpret` executes the reference interpreter. Needs onnx.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import select
import signal
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

KINDS = ("node", "simple", "pytorch-converted", "pytorch-operator", "real")
SETTINGS: dict[str, dict[str, Any]] = {"compile": {}, "O0": {"schedule": False, "level": 0}}
CASES_OF_A_WORKER = 300
"""Number of cases after which a worker is replaced, so that its memory does not grow."""


def cases(kinds: Sequence[str]) -> list[Any]:
    """Return the cases of the suite."""
    from onnx.backend.test.loader import load_model_tests

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # onnx overflows on purpose
        return [case for kind in kinds for case in load_model_tests(kind=kind)]


def prepared(case: Any, mode: str) -> Any:
    """Return the model of a case as an `onnx.backend` prepares it."""
    from tvms.dsl.importers.onnx import backend
    from tvms.ir.interp import run

    model = model_of(case)
    if mode != "interpret":
        return backend.prepare(model, **SETTINGS[mode])
    return backend.prepared(model, lambda module: lambda *inputs: run(module, "main", list(inputs)))


def model_of(case: Any) -> Any:
    """Return the model of a case, which is in memory or in onnx's package."""
    import onnx

    if case.model is not None:
        return case.model
    if case.model_dir is not None:
        return onnx.load(Path(case.model_dir, "model.onnx"))
    return onnx.load(Path(onnx.__file__).parents[1] / case.url)


def data_sets(case: Any) -> Iterator[tuple[list[Any], list[Any]]]:
    """Yield the inputs and expected outputs of a case."""
    from onnx.backend.test.runner import Runner, _normalize_tensor

    if case.data_sets is not None:
        for given in case.data_sets:
            inputs, outputs = ([_normalize_tensor(item) for item in items] for items in given)
            yield inputs, outputs
        return
    graph, load = model_of(case).graph, Runner._load_proto
    if case.model_dir is None:
        initialized = {initializer.name for initializer in graph.initializer}
        inputs = [Runner.generate_dummy_data(x) for x in graph.input if x.name not in initialized]
        outputs, path = [], model_path(case)
        for number, output in enumerate(graph.output):
            load(None, path.with_name(f"{path.stem}_output_{number}.pb"), outputs, output.type)
        yield inputs, outputs
        return
    for folder in sorted(Path(case.model_dir).glob("test_data_set*")):
        inputs, outputs = [], []
        for number in range(len(list(folder.glob("input_*.pb")))):
            load(None, folder / f"input_{number}.pb", inputs, graph.input[number].type)
        for number in range(len(list(folder.glob("output_*.pb")))):
            load(None, folder / f"output_{number}.pb", outputs, graph.output[number].type)
        yield inputs, outputs


def model_path(case: Any) -> Path:
    """Return the file of a model in onnx's package."""
    import onnx

    return Path(onnx.__file__).parents[1] / case.url


def outcome(case: Any, mode: str) -> tuple[str, tuple[str, ...]]:
    """Run a case; return "" if it passes, or the cause of its failure in one line, and the inputs for whose values the model
    was compiled.
    """
    try:
        model = prepared(case, mode)
        for inputs, expected in data_sets(case):
            check_outputs(expected, list(model.run(inputs)), case)
    except Exception as problem:  # every failure is counted
        text = " ".join(str(problem).split())
        return f"{type(problem).__name__}: {text}"[:400], ()
    return "", model.specialized


def check_outputs(expected: list[Any], found: list[Any], case: Any) -> None:
    """Compare outputs as the suite does; sequences one by one, of which its comparison does not accept scalars."""
    from onnx.backend.test.runner import Runner

    assert len(expected) == len(found)
    for one, other in zip(expected, found, strict=True):
        if isinstance(one, list | tuple) and isinstance(other, list | tuple):
            check_outputs(list(one), list(other), case)
        else:
            Runner.assert_similar_outputs([one], [other], case.rtol, case.atol)


def operators(graph: Any) -> set[str]:
    """Return the operators of a graph and its subgraphs, those outside of the standard with their domain."""
    found: set[str] = set()
    for node in graph.node:
        found.add(f"{node.domain}.{node.op_type}" if node.domain else node.op_type)
        for attribute in node.attribute:
            for inner in (attribute.g, *attribute.graphs):
                found |= operators(inner)
    return found


class Worker:
    """A forked process that runs cases from a position on, and sends their outcomes as lines."""

    def __init__(self, todo: Sequence[Any], mode: str) -> None:
        self.lost = "the process ended"
        reading, writing = os.pipe()
        self._process = os.fork()
        if self._process == 0:
            os.close(reading)
            with os.fdopen(writing, "w") as lines:
                for case in todo[:CASES_OF_A_WORKER]:
                    lines.write(json.dumps(outcome(case, mode)) + "\n")
                    lines.flush()
            os._exit(0)
        os.close(writing)
        self._lines = os.fdopen(reading)

    def next(self, limit: float) -> tuple[str, tuple[str, ...]] | None:
        """Return the next outcome; None if there is none within `limit` seconds, for the reason in `lost`."""
        if not select.select([self._lines], [], [], limit)[0]:
            self.lost = f"no result after {limit:.0f} s"
            return None
        line = self._lines.readline()
        return tuple(json.loads(line)) if line else None

    def end(self) -> None:
        """End the process."""
        self._lines.close()
        os.kill(self._process, signal.SIGKILL)
        os.waitpid(self._process, 0)


def run_all(todo: Sequence[Any], mode: str, limit: float) -> Iterator[tuple[Any, str, tuple[str, ...]]]:
    """Yield the cases with their outcomes."""
    place = 0
    while place < len(todo):
        worker = Worker(todo[place:], mode)
        for case in todo[place : place + CASES_OF_A_WORKER]:
            place += 1
            found = worker.next(limit)
            yield case, *((worker.lost, ()) if found is None else found)
            if found is None:
                break
        worker.end()


def main() -> None:
    """Run the selected cases, and print their failures and counts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-k", dest="pattern", default="", metavar="REGEX", help="run cases whose name matches")
    parser.add_argument(
        "--op", metavar="OPERATOR", action="append", help="run cases with this operator; may be repeated"
    )
    parser.add_argument("--kind", choices=(*KINDS, "all"), default="node", help="the part of the suite (default: node)")
    parser.add_argument("--mode", choices=(*SETTINGS, "interpret"), default="compile", help="how to execute the models")
    parser.add_argument("--limit", type=float, default=60.0, metavar="S", help="seconds for a case (default: 60)")
    parser.add_argument("--json", metavar="FILE", help="write the outcomes to this file")
    arguments = parser.parse_args()
    chosen = [
        case for case in cases(KINDS if arguments.kind == "all" else (arguments.kind,)) if is_chosen(case, arguments)
    ]
    found: dict[str, dict[str, Any]] = {}
    for case, cause, specialized in run_all(chosen, arguments.mode, arguments.limit):
        graph = model_of(case).graph
        found[f"{case.kind}/{case.name}"] = {
            "cause": cause, "operators": sorted(operators(graph)), "specialized": specialized,
        }  # fmt: skip
        if cause:
            print(f"{case.name}: {cause}", flush=True)
    passed = Counter(name.partition("/")[0] for name, result in found.items() if not result["cause"])
    for kind, count in Counter(name.partition("/")[0] for name in found).items():
        print(f"{kind}: {passed[kind]} of {count} cases pass")
    if special := sum(bool(result["specialized"]) for result in found.values()):
        print(f"{special} of these models are compiled for the values of some inputs")
    if arguments.json:
        Path(arguments.json).write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def is_chosen(case: Any, arguments: argparse.Namespace) -> bool:
    """Return whether the command line selects a case."""
    if not re.search(arguments.pattern, case.name):
        return False
    return not arguments.op or not operators(model_of(case).graph).isdisjoint(arguments.op)


if __name__ == "__main__":
    main()
