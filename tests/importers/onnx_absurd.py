"""Absurd ONNX models of up to 16 MB: very many parts, deep nesting, sizes that overflow, and constants that grow.

    python tests/importers/onnx_absurd.py [NAME…]

imports each in a process of its own, and prints its size, processor time, peak memory, and what the import says.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from subprocess import run
from typing import Any

import onnx
from onnx import TensorProto, helper

MOST_BYTES = 16 << 20
_VECTOR = helper.make_tensor_type_proto(TensorProto.FLOAT, ["n"])
_SCALAR = helper.make_tensor_type_proto(TensorProto.FLOAT, [])


def _model(nodes: list[Any], output: str = "z", initializers: Sequence[Any] = (), functions: Sequence[Any] = ()) -> Any:
    value = helper.make_value_info
    graph = helper.make_graph(nodes, "g", [value("x", _VECTOR)], [value(output, _VECTOR)], initializers)
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("own", 1)]
    return helper.make_model(graph, opset_imports=opsets, functions=functions)


def _chain(count: int, operator: str = "Relu", **attributes: Any) -> Any:
    names = ["x", *[f"v{place}" for place in range(count - 1)], "z"]
    node, nodes = helper.make_node, []
    for before, after in pairwise(names):
        nodes.append(
            node(operator, [before] if operator in ("Relu", "Identity") else [before, before], [after], **attributes)
        )
    return _model(nodes)


def _constant(name: str, values: Any, dtype: int = TensorProto.INT64) -> Any:
    sizes = [len(values)] if isinstance(values, list) else []
    return helper.make_tensor(name, dtype, sizes, values if sizes else [values])


def _grown(operator: str, steps: int = 60, **attributes: Any) -> Any:
    """Return a model in which a constant of 2,000 elements doubles at every step."""
    first = _constant("c0", [1.0] * 2000, TensorProto.FLOAT)
    nodes = [helper.make_node(operator, [f"c{step}"] * 2, [f"c{step + 1}"], **attributes) for step in range(steps)]
    return _model([*nodes, helper.make_node("Add", ["x", f"c{steps}"], ["z"])], initializers=[first])


def _sized(operator: str, inputs: dict[str, Any], **attributes: Any) -> Any:
    """Return a model of one node with constant inputs."""
    made = [_constant(name, value, dtype) for name, (value, dtype) in inputs.items()]
    nodes = [helper.make_node(operator, list(inputs), ["y"], **attributes), helper.make_node("Add", ["x", "y"], ["z"])]
    return _model(nodes, initializers=made)


def _functions(depth: int) -> Any:
    """Return a model whose function calls another twice, which calls another twice, and so on."""
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("own", 1)]
    made = [
        helper.make_function(
            "own", f"f{level}", ["a"], ["c"],
            [helper.make_node(f"f{level + 1}", ["a"], ["b"], domain="own"), helper.make_node(f"f{level + 1}", ["b"], ["c"], domain="own")],
            opsets,
        )
        for level in range(depth)
    ]  # fmt: skip
    made.append(
        helper.make_function("own", f"f{depth}", ["a"], ["c"], [helper.make_node("Relu", ["a"], ["c"])], opsets)
    )
    return _model([helper.make_node("f0", ["x"], ["z"], domain="own")], functions=made)


def _nested(levels: int) -> Any:
    """Return a model with conditions in the branches of conditions."""
    result = [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n"])]
    inner = [helper.make_node("Relu", ["x"], ["y"])]
    simple = helper.make_graph(inner, "simple", [], result)
    for _ in range(levels):
        graph = helper.make_graph(inner, "branch", [], result)
        inner = [
            helper.make_node("ReduceSum", ["x"], ["s"], keepdims=0),
            helper.make_node("Cast", ["s"], ["t"], to=TensorProto.BOOL),
            helper.make_node("If", ["t"], ["y"], then_branch=graph, else_branch=simple),
        ]
    return _model(inner, "y")


def _forks(count: int) -> Any:
    """Return a model of conditions in a row, each with outputs of different ranks."""
    nodes: list[Any] = [
        helper.make_node("ReduceSum", ["x"], ["s"], keepdims=0),
        helper.make_node("Cast", ["s"], ["t"], to=TensorProto.BOOL),
    ]
    info = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    last = "x"
    for place in range(count):
        yes = helper.make_graph([helper.make_node("Identity", [last], ["y"])], "yes", [], [info])
        no = helper.make_graph([helper.make_node("Unsqueeze", [last, "zero"], ["y"])], "no", [], [info])
        nodes.append(helper.make_node("If", ["t"], [f"w{place}"], then_branch=yes, else_branch=no))
        last = f"w{place}"
    return _model([*nodes, helper.make_node("Relu", [last], ["z"])], initializers=[_constant("zero", [0])])


def _with_dims(*dims: int) -> Any:
    tensor = onnx.TensorProto(name="w", data_type=TensorProto.FLOAT, dims=dims, raw_data=b"1234")
    return _model([helper.make_node("Add", ["x", "w"], ["z"])], initializers=[tensor])


def _texts() -> Any:
    tensor = onnx.TensorProto(name="w", data_type=TensorProto.STRING, dims=[3_500_000], string_data=[b"ab"] * 3_500_000)
    return _model([helper.make_node("Identity", ["w"], ["z"])], initializers=[tensor])


def _initializers(count: int) -> Any:
    made = [_constant(f"w{place}", 1.0, TensorProto.FLOAT) for place in range(count)]
    return _model([helper.make_node("Add", ["x", "w0"], ["z"])], initializers=made)


def _inputs(count: int) -> Any:
    model = _model([helper.make_node("Relu", ["x"], ["z"])])
    model.graph.input.extend(helper.make_value_info(f"i{place}", _SCALAR) for place in range(count))
    return model


def _cycle() -> Any:
    return _model([helper.make_node("Relu", ["b"], ["a"]), helper.make_node("Relu", ["a"], ["b"])], "a")


_INT, _FLOAT = TensorProto.INT64, TensorProto.FLOAT
CASES: dict[str, Callable[[], Any]] = {
    "nodes": lambda: _chain(500_000, "Identity"),
    "nodes below the limit": lambda: _chain(99_000),
    "additions below the limit": lambda: _chain(66_000, "Add"),
    "one sum of many": lambda: _model([helper.make_node("Sum", ["x"] * 1_000_000, ["z"])]),
    "a sum below the limit": lambda: _model([helper.make_node("Sum", ["x"] * 199_000, ["z"])]),
    "one concatenation of many": lambda: _model([helper.make_node("Concat", ["x"] * 1_000_000, ["z"], axis=0)]),
    "attributes": lambda: _model([helper.make_node("Relu", ["x"], ["z"], **{f"a{n}": n for n in range(600_000)})]),
    "a list of numbers": lambda: _model([helper.make_node("Constant", [], ["c"], value_ints=list(range(3_500_000))), helper.make_node("Add", ["x", "c"], ["z"])]),
    "axes": lambda: _model([helper.make_node("Transpose", ["x"], ["z"], perm=list(range(3_500_000)))]),
    "nested conditions": lambda: _nested(20),
    "conditions in a row": lambda: _forks(60),
    "functions that double": lambda: _functions(60),
    "dimensions that overflow": lambda: _with_dims(1 << 62, 1 << 62),
    "a dimension without data": lambda: _with_dims(1 << 40),
    "many dimensions": lambda: _with_dims(*[1] * 1_000_000),
    "texts": _texts,
    "initializers": lambda: _initializers(400_000),
    "inputs": lambda: _inputs(500_000),
    "a name": lambda: _model([helper.make_node("Relu", ["x"], ["z"], name="n" * 16_000_000)]),
    "a cycle": _cycle,
    "a value twice": lambda: _model([helper.make_node("Relu", ["x"], ["z"])] * 2),
    "concatenated constants": lambda: _grown("Concat", axis=0),
    "broadcast constants": lambda: _sized("Expand", {"a": (1.0, _FLOAT), "b": ([1 << 20, 1 << 20], _INT)}),
    "a filled constant": lambda: _sized("ConstantOfShape", {"a": ([1 << 40], _INT)}),
    "repeated constants": lambda: _sized("Tile", {"a": ([1.0] * 100, _FLOAT), "b": ([1 << 40], _INT)}),
    "a range": lambda: _sized("Range", {"a": (0, _INT), "b": (1 << 50, _INT), "c": (1, _INT)}),
    "a range that overflows": lambda: _sized("Range", {"a": (-(1 << 62), _INT), "b": (1 << 62, _INT), "c": (1, _INT)}),
    "one-hot constants": lambda: _sized("OneHot", {"a": ([1] * 4000, _INT), "b": (1 << 40, _INT), "c": ([0.0, 1.0], _FLOAT)}),
    "padded constants": lambda: _sized("Pad", {"a": ([1.0] * 10, _FLOAT), "b": ([1 << 40, 1 << 40], _INT)}),
    "a resized constant": lambda: _sized("Resize", {"a": ([1.0] * 10, _FLOAT), "": ([], _FLOAT), "b": ([1e12], _FLOAT)}),
    "an identity matrix": lambda: _sized("EyeLike", {"a": ([1.0] * 10, _FLOAT)}, k=1 << 62),
    "a window": lambda: _sized("HannWindow", {"a": (1 << 40, _INT)}),
}  # fmt: skip


def measured(name: str) -> tuple[float, int, str]:
    """Return the processor time in seconds, and peak memory in bytes, of an import, and what it says; it runs in a new process."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.onnx")
        path.write_bytes(CASES[name]().SerializeToString()[:MOST_BYTES])
        made = run([sys.executable, __file__, "--import", str(path)], capture_output=True, text=True, check=False)
    if made.returncode:
        return 0.0, 0, f"exit {made.returncode}: {made.stderr[-300:]}"
    seconds, peak, *said = made.stdout.split("\n", 2)
    return float(seconds), int(peak), said[0].strip() if said else ""


def _import(path: str) -> None:
    """Import a model, and print the processor time, the peak memory of this process, and the error's first line."""
    import tvms
    from tvms.relax.frontend.onnx import from_onnx

    resource.setrlimit(resource.RLIMIT_CPU, (120, 120))
    start, said = time.process_time(), "imported"
    try:
        from_onnx(path)
    except tvms.TvmsError as problem:
        said = str(problem).splitlines()[0][:200]
    seconds = time.process_time() - start
    status = Path("/proc/self/status").read_text().splitlines()
    peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) << 10
    print(f"{seconds:.2f}\n{peak}\n{said}")


def main() -> None:
    """Measure the cases that are named, or all."""
    if sys.argv[1:2] == ["--import"]:
        _import(sys.argv[2])
        return
    print("| case | size, MB | seconds | peak, MB | result |\n| --- | ---: | ---: | ---: | --- |")
    for name in sys.argv[1:] or CASES:
        size = min(CASES[name]().ByteSize(), MOST_BYTES)
        seconds, peak, said = measured(name)
        print(f"| {name} | {size / 1e6:.1f} | {seconds:.1f} | {peak >> 20} | {said} |", flush=True)


if __name__ == "__main__":
    main()
