"""Calls that overwrite an operand, `R.call_tir_inplace`, for random graphs: values that read the operand before."""

from __future__ import annotations

from .graph import Graph, Shape, Value

_BEFORE = ("R.add({0}, {0})", "R.multiply({0}, {0})", "R.negative({0})", "R.nn.relu({0})", "R.subtract({0}, R.const(1.0, \"float32\"))")  # fmt: skip
"""Values in new memory, which is overwritten later."""
_READERS = ("R.multiply({0}, {1})", "R.subtract({1}, {0})", "R.exp({0})", "R.negative({0})")
"""Values that read such memory and do not keep it."""
_UPDATES = ("A[{v}] * T.float32(2) + T.float32(1)", "T.float32(3) - A[{v}]")


def overwriting(graph: Graph) -> None:
    """Add a tensor, values that read it, and one or two calls of functions of the module that overwrite it. No later line
    reads the tensor.
    """
    assert graph.callees is not None, "the functions need a module"
    x = graph.operand(lambda value: value.dtype == "float32" and value.is_static and len(value.shape) > 0)
    if x.dtype != "float32" or not x.is_static or not x.shape:
        x = graph.parameter((graph.choose.number(1, 4), 2), "float32")
    old, known = graph.choose.fresh("lv"), len(graph.values)
    graph.lines.append(f"{old} = {graph.choose.pick(_BEFORE).format(x.name)}")
    for _ in range(graph.choose.number(1, 2)):
        for _ in range(graph.choose.number(0, 2)):
            graph.bind(graph.choose.pick(_READERS).format(old, x.name), x.shape, x.dtype)
        old = _call(graph, old, x)
    readers = graph.values[known:]
    graph.values.append(Value(old, x.shape, x.dtype))
    if readers and graph.choose.number(0, 2):
        graph.bind(f"R.add({old}, {graph.choose.pick(readers).name})", x.shape, x.dtype)


def _call(graph: Graph, old: str, x: Value) -> str:
    """Add a call that overwrites `old`, perhaps with a second operand or a second result. Return the name of its result."""
    assert graph.callees is not None
    name, result, info = graph.choose.fresh("update"), graph.choose.fresh("lv"), x.struct_info()
    match graph.choose.number(0, 2):
        case 0:
            graph.callees.append(_function(name, x.shape, ("A",), (f"A[{{v}}] = {graph.choose.pick(_UPDATES)}",)))
            graph.lines.append(_line(result, name, (old,), info, (0,)))
        case 1:
            graph.callees.append(_function(name, x.shape, ("B", "A"), ("A[{v}] = A[{v}] - B[{v}]",)))
            graph.lines.append(_line(result, name, (x.name, old), info, (1,)))
        case _:
            steps = ("C[{v}] = A[{v}] + T.float32(1)", f"A[{{v}}] = {graph.choose.pick(_UPDATES)}")
            graph.callees.append(_function(name, x.shape, ("A", "C"), steps))
            both = graph.choose.fresh("lv")
            graph.lines.append(_line(both, name, (old,), f"[{info}, {info}]", (0, -1)))
            graph.lines.append(f"{result} = {both}[0]")
            graph.bind(f"{both}[1]", x.shape, x.dtype)
    return result


def _line(result: str, callee: str, operands: tuple[str, ...], info: str, places: tuple[int, ...]) -> str:
    given = f"({operands[0]},)" if len(operands) == 1 else f"({', '.join(operands)})"
    return f"{result} = R.call_tir_inplace(cls.{callee}, {given}, out_sinfo={info}, inplace_indices={[*places]})"


def _function(name: str, shape: Shape, params: tuple[str, ...], steps: tuple[str, ...]) -> str:
    """Return a loop function as text: it executes `steps` for each element, at the indices `{v}`."""
    loops, axes = ([f"{letter}{at}" for at in range(len(shape))] for letter in "iv")
    sizes = ", ".join(map(str, shape))
    head = ", ".join(f'{param}: T.Buffer(({sizes},), "float32")' for param in params)
    extent = f"range({sizes})" if len(shape) == 1 else f"T.grid({sizes})"
    block = [f'{", ".join(axes)} = T.axis.remap("{"S" * len(shape)}", [{", ".join(loops)}])']
    block += [step.format(v=", ".join(axes)) for step in steps]
    body = "\n".join(f"            {line}" for line in block)
    return (
        f"T.prim_func(private=True) {name}({head}):\n    for {', '.join(loops)} in {extent}:\n"
        f'        with T.block("{name}"):\n{body}\n'
    )
