"""Random functions that default schedules recognize: products, convolutions, reductions, softmax, transposes, formulas."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from hypothesis import strategies as st
from msgspec import Struct

from ...ir.base import IRModule
from ..load import parse
from .choices import Choices, drawn


class _Block(Struct, frozen=True):
    """Block in the order of its loops: `axes` are pairs of a name and an extent, upper-case names are reduced."""

    name: str
    axes: tuple[tuple[str, int | str], ...]
    store: str
    value: str
    init: str = ""


_Buffers = Mapping[str, tuple[str, tuple[int | str, ...]]]
"""Dtypes and shapes of buffers by name."""


def computations() -> st.SearchStrategy[IRModule]:
    """Generate modules whose function `main` default schedules of processors and GPUs apply to."""
    return drawn(lambda choose: parse(computation_text(choose), "computation.tvms"))


def computation_text(choose: Choices) -> str:
    """Return the text of such a module."""
    return choose.pick(_KINDS)(choose)


def _function(params: _Buffers, own: _Buffers, blocks: list[_Block], symbol: str = "") -> str:
    def shape(sizes: tuple[int | str, ...]) -> str:
        return f"({', '.join(map(str, sizes))},)"

    inputs = ", ".join([f'{name}: T.Buffer({shape(sizes)}, "{dtype}")' for name, (dtype, sizes) in params.items()])
    lines = [f"T.prim_func main({inputs}):"]
    if symbol:
        handles = ", ".join([f"{name}_handle: T.handle" for name in params])
        lines = [f"T.prim_func main({handles}):", f"    {symbol} = T.int64()"]
        lines += [f'    {name} = T.match_buffer({name}_handle, {shape(sizes)}, "{dtype}")' for name, (dtype, sizes) in params.items()]  # fmt: skip
    lines += [f'    {name} = T.alloc_buffer({shape(sizes)}, "{dtype}")' for name, (dtype, sizes) in own.items()]
    for block in blocks:
        lines += _lines(block)
    body = "\n".join([f"    {line}" for line in lines])
    return f"I.ir_module Module:\n{body}\n"


def _lines(block: _Block) -> list[str]:
    names = [name.lower() for name, _ in block.axes]
    kinds = "".join(["R" if name.isupper() else "S" for name, _ in block.axes])
    loops = ", ".join([f"{name}0" for name in names])
    bound = ", ".join(names) + ("," if len(names) == 1 else "")
    head = f"for {loops} in " + (f"T.grid({', '.join([str(size) for _, size in block.axes])})" if len(names) > 1 else f"range({block.axes[0][1]})")  # fmt: skip
    lines = [f"    {head}:", f'        with T.block("{block.name}"):']
    if len(names) > 1:
        lines.append(f'            {bound} = T.axis.remap("{kinds}", [{loops}])')
    else:
        kind = "reduce" if kinds == "R" else "spatial"
        lines.append(f"            {names[0]} = T.axis.{kind}({block.axes[0][1]}, {loops})")
    if block.init:
        lines += ["            with T.init():", f"                {block.store} = {block.init}"]
    return [*lines, f"            {block.store} = {block.value}"]


def _size(choose: Choices, most: int = 40) -> int:
    return choose.pick((1, 3, 8, 16, 17, 33, most)) if choose.number(0, 1) else choose.number(1, most)


def _float(choose: Choices) -> str:
    return choose.pick(("float32", "float32", "float64"))


def _product(choose: Choices) -> str:
    kind, m, n, k = _float(choose), _size(choose), _size(choose), _size(choose)
    if m * n * k < 4096:
        m, n, k = 17, 33, max(k, 8)
    a = ("i, k", (m, k)) if choose.number(0, 2) else ("k, i", (k, m))
    b = ("k, j", (k, n)) if choose.number(0, 2) else ("j, k", (n, k))
    symbol = "m" if a[0] == "i, k" and not choose.number(0, 4) else ""
    rows: int | str = symbol or m
    a_shape = (rows, k) if a[0] == "i, k" else a[1]
    params = {"A": (kind, a_shape), "B": (kind, b[1])}
    axes = (("i", rows), ("j", n), ("K", k))
    has_epilogue = choose.number(0, 2)
    store = "P" if has_epilogue else "C"
    sum_ = _Block("product", axes, f"{store}[i, j]", f"{store}[i, j] + A[{a[0]}] * B[{b[0]}]", f"T.{kind}(0)")
    if not has_epilogue:
        return _function({**params, "C": (kind, (rows, n))}, {}, [sum_], symbol)
    last = _Block("epilogue", (("x", rows), ("y", n)), "C[x, y]", f"T.max(P[x, y] + D[y], T.{kind}(0))")
    params |= {"D": (kind, (n,)), "C": (kind, (rows, n))}
    return _function(params, {"P": (kind, (rows, n))}, [sum_, last], symbol)


def _matrix_vector(choose: Choices) -> str:
    kind, n, k = _float(choose), choose.number(33, 70), choose.number(128, 200)
    row = _Block("product", (("j", n), ("K", k)), "Y[j]", "Y[j] + A[j, k] * X[k]", f"T.{kind}(0)")
    return _function({"A": (kind, (n, k)), "X": (kind, (k,)), "Y": (kind, (n,))}, {}, [row])


def _few_rows(choose: Choices) -> str:
    """Return a product of few rows with a large matrix, perhaps of packed integers with scales, perhaps with an epilogue."""
    kind, m, n, k = (
        choose.pick(("float32", "float16")),
        choose.number(1, 3),
        choose.number(256, 259),
        choose.pick((64, 72)),
    )
    blocks, params, own = (
        list[_Block](),
        {"X": (kind, (m, k)), "Y": (kind, (m, n))},
        dict[str, tuple[str, tuple[int, ...]]](),
    )
    if choose.number(0, 2):
        word = 'T.bitwise_and(T.shift_right(W[j, k // 8], T.Cast("uint32", k % 8 * 4)), T.uint32(15))'
        blocks.append(_Block("decode", (("j", n), ("k", k)), "D[j, k]", f'T.Cast("{kind}", {word}) * S[j, k // 8]'))
        params, own = {**params, "W": ("uint32", (n, k // 8)), "S": (kind, (n, k // 8))}, {"D": (kind, (n, k))}
    else:
        params["D"] = (kind, (n, k))
    has_epilogue = choose.number(0, 1)
    store = "P[i, j]" if has_epilogue else "Y[i, j]"
    axes = (("i", m), ("j", n), ("K", k))
    blocks.append(_Block("product", axes, store, f"{store} + X[i, k] * D[j, k]", f"T.{kind}(0)"))
    if has_epilogue:
        own["P"] = (kind, (m, n))
        blocks.append(_Block("epilogue", axes[:2], "Y[i, j]", f"T.max(P[i, j], T.{kind}(0))"))
    return _function(params, own, blocks)


def _convolution(choose: Choices) -> str:
    f, c, size, window, step = (
        choose.number(1, 9),
        choose.number(1, 6),
        choose.number(6, 9),
        choose.number(1, 3),
        choose.number(1, 2),
    )
    height = (size - 1) * step + window
    is_last = choose.number(0, 1)
    axes = (("f", f), ("y", size), ("x", size), ("C", c), ("U", window), ("V", window))
    image, at = ((height, height, c), f"y * {step} + u, x * {step} + v, c") if is_last else ((c, height, height), f"c, y * {step} + u, x * {step} + v")  # fmt: skip
    store = "O[y, x, f]" if is_last else "O[f, y, x]"
    if is_last:
        axes = (*axes[1:3], axes[0], *axes[3:])
    sum_ = _Block("convolution", axes, store, f"{store} + W[f, c, u, v] * I[{at}]", "T.float32(0)")
    result = (size, size, f) if is_last else (f, size, size)
    params: dict[str, tuple[str, tuple[int | str, ...]]] = {"I": ("float32", image), "W": ("float32", (f, c, window, window)), "O": ("float32", result)}  # fmt: skip
    return _function(params, {}, [sum_])


def _transpose(choose: Choices) -> str:
    kind, m, n = choose.pick(("float32", "int32", "float64")), choose.number(8, 70), choose.number(8, 70)
    copy = _Block("transpose", (("i", m), ("j", n)), "B[j, i]", "A[i, j]")
    return _function({"A": (kind, (m, n)), "B": (kind, (n, m))}, {}, [copy])


def _softmax(choose: Choices) -> str:
    n, m = _size(choose, 9), choose.number(2, 150)
    rows: int | str = "n" if not choose.number(0, 3) else n
    both, along = (("i", rows), ("j", m)), (("i", rows), ("K", m))
    blocks = [
        _Block("most", along, "M[i]", "T.max(M[i], A[i, k])", 'T.min_value("float32")'),
        _Block("exp", both, "E[i, j]", "T.exp(A[i, j] - M[i])"),
        _Block("sum", along, "S[i]", "S[i] + E[i, k]", "T.float32(0)"),
        _Block("divide", both, "B[i, j]", "E[i, j] / S[i]"),
    ]
    row: tuple[str, tuple[int | str, ...]] = ("float32", (rows,))
    whole: tuple[str, tuple[int | str, ...]] = ("float32", (rows, m))
    return _function({"A": whole, "B": whole}, {"M": row, "E": whole, "S": row}, blocks, "n" if rows == "n" else "")


def _columns(choose: Choices) -> str:
    n, m = choose.number(1, 70), choose.number(2, 70)
    value = choose.pick(("C[j] + A[k, j]", "T.max(C[j], A[k, j])"))
    sum_ = _Block("columns", (("j", n), ("K", m)), "C[j]", value, "T.float32(0)")
    return _function({"A": ("float32", (m, n)), "C": ("float32", (n,))}, {}, [sum_])


def _formula(choose: Choices) -> str:
    kind = choose.pick(("float32", "int32", "uint8", "float64"))
    sizes = tuple([_size(choose) for _ in range(choose.number(1, 3))])
    names = ["i", "j", "l"][: len(sizes)]
    axes, at = tuple(zip(names, sizes, strict=True)), ", ".join(names)
    first = _Block("first", axes, f"P[{at}]", f"A[{at}] * A[{at}]")
    last = _Block("last", axes, f"B[{at}]", f"T.max(P[{at}], A[{at}])" if choose.number(0, 1) else f"P[{at}] + P[{at}]")
    return _function({"A": (kind, sizes), "B": (kind, sizes)}, {"P": (kind, sizes)}, [first, last])


def _mixed_product(choose: Choices) -> str:
    """Return a product of halves that is summed in another dtype, as tensor cores do it."""
    kind, result = choose.pick(("float16", "bfloat16")), choose.pick(("float32", ""))
    m, n, k = choose.number(16, 20), choose.number(16, 20), choose.pick((16, 17, 24))
    a, b = ("A[i, k]", "B[k, j]") if not result else (f'T.Cast("{result}", A[i, k])', f'T.Cast("{result}", B[k, j])')
    result = result or kind
    sum_ = _Block("product", (("i", m), ("j", n), ("K", k)), "C[i, j]", f"C[i, j] + {a} * {b}", f"T.{result}(0)")
    return _function({"A": (kind, (m, k)), "B": (kind, (k, n)), "C": (result, (m, n))}, {}, [sum_])


def _extremum(choose: Choices) -> str:
    """Return a search for the place of the greatest or least element of each row; ties go to the lower place."""
    n, m, sign = choose.number(1, 4), choose.number(17, 70), choose.pick((">", "<"))
    kind, start = choose.pick(("float32", "int32")), choose.pick(("min_value", "max_value"))
    nan, number = "V[i] != V[i]", "A[i, k] == A[i, k]"
    earlier = (
        f'V[i] {sign} A[i, k] or {nan} and {number} or (V[i] {sign}= A[i, k] or {nan}) and I[i] < T.Cast("int64", k)'
    )
    return f"""T.prim_func main(A: T.Buffer(({n}, {m}), "{kind}"), I: T.Buffer(({n},), "int64"), V: T.Buffer(({n},), "{kind}")):
    for i0, k0 in T.grid({n}, {m}):
        with T.block("extremum"):
            i, k = T.axis.remap("SR", [i0, k0])
            with T.init():
                I[i] = T.int64(-1)
                V[i] = T.{start}("{kind}")
            place: T.int64 = T.Select({earlier}, I[i], T.Cast("int64", k))
            value: T.{kind} = T.Select(V[i] {sign}= A[i, k] or {nan}, V[i], A[i, k])
            I[i] = place
            V[i] = value
"""


_KINDS: tuple[Callable[[Choices], str], ...] = (
    _product, _product, _product, _matrix_vector, _few_rows, _convolution, _transpose, _softmax, _columns, _formula, _mixed_product, _extremum,
)  # fmt: skip
