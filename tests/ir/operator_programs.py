"""Calls of operators as programs, with random arguments, and what must agree for each."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import tvms
from msgspec.structs import replace
from tvms.ir import relax, te, tir
from tvms.ir.base import IRModule
from tvms.ir.infer import infer_struct_info
from tvms.ir.interp import run
from tvms.ir.numpy_dtype import numpy_dtype
from tvms.ir.ops.binding import bind
from tvms.ir.ops.inference import dims_of, tensor_info
from tvms.ir.ops.registry import get_op
from tvms.ir.passes.legalize_ops import legalize_ops
from tvms.ir.visit import substitute, walk

Case = tuple[Any, ...]
"""An operator's name, its arguments, and perhaps a dict of keywords."""


class Random:
    """A tensor argument, drawn for each run."""

    def __init__(self, dtype: str, shape: tuple[int, ...], low: float = -2, high: float = 2) -> None:
        self.dtype, self.shape, self.low, self.high = dtype, shape, low, high

    def draw(self, rng: np.random.Generator) -> np.ndarray:
        if self.dtype == "bool":
            return rng.integers(0, 2, self.shape).astype("bool")
        if "int" in self.dtype:
            return rng.integers(int(self.low), int(self.high), self.shape).astype(self.dtype)
        return rng.uniform(self.low, self.high, self.shape).astype(numpy_dtype(self.dtype))


def f(*shape: int, low: float = -2, high: float = 2, dtype: str = "float32") -> Random:
    return Random(dtype, shape, low, high)


def i(*shape: int, low: int = 0, high: int = 4, dtype: str = "int64") -> Random:
    return Random(dtype, shape, low, high)


def b(*shape: int) -> Random:
    return Random("bool", shape)


def positive(*shape: int) -> Random:
    return f(*shape, low=0.5, high=2)


def number(value: float | tuple[float, ...], dtype: str = "float32") -> relax.Constant:
    return relax.Constant(np.array(value, dtype))


def index_map(function: Callable[..., Any]) -> tir.IndexMap:
    """The index map that `function` of the indices says."""
    variables = [te.var(name, "int64") for name in inspect.signature(function).parameters]
    return tir.IndexMap(tuple(var for var in variables), tuple(index for index in function(*variables)))  # type: ignore[arg-type]


def program(case: Case, rng: np.random.Generator) -> tuple[IRModule, list[np.ndarray]]:
    """A function `main` that returns one call, and arguments for it."""
    name, *args = case
    keywords = args.pop() if args and isinstance(args[-1], dict) else {}
    arrays: list[np.ndarray] = []
    params: list[relax.Var] = []

    def argument(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(argument(item) for item in value)
        if not isinstance(value, Random):
            return value
        arrays.append(value.draw(rng))
        shape = [tir.IntImm("int64", size) for size in value.shape]
        params.append(relax.Var(f"x{len(params)}", struct_info=tensor_info(shape, value.dtype)))
        return params[-1]

    call = bind(get_op(f"relax.{name}"), [argument(value) for value in args], keywords)
    info = infer_struct_info(call)
    var = relax.Var("gv", struct_info=info)
    block = relax.BindingBlock((relax.VarBinding(var, replace(call, struct_info=info)),))
    main = relax.Function(tuple(params), relax.SeqExpr((block,), var), info, attrs={"global_symbol": "main"})
    return IRModule({"main": main}), arrays


def leaves(info: Any, value: Any) -> list[tuple[Any, Any]]:
    if isinstance(info, relax.TupleStructInfo):
        assert len(info.fields) == len(value)
        return [leaf for field, item in zip(info.fields, value, strict=True) for leaf in leaves(field, item)]
    return [(info, value)]


def _compare(main: relax.Function, expected: Any, got: Any) -> None:
    for (info, value), (_, other) in zip(
        leaves(main.ret_struct_info, expected), leaves(main.ret_struct_info, got), strict=True
    ):
        tolerance = {"float16": 1e-2, "bfloat16": 6e-2}.get(info.dtype, 2e-5)
        np.testing.assert_allclose(np.asarray(other, "float64"), np.asarray(value, "float64"), tolerance, tolerance)


def check(case: Case, rng: np.random.Generator) -> None:
    """What is inferred is what the oracle gives; the legalized program computes the same; and with symbolic dimensions,
    what is inferred is that, too."""
    module, arrays = program(case, rng)
    main = module["main"]
    assert isinstance(main, relax.Function)
    expected = run(module, "main", arrays)
    for info, value in leaves(main.ret_struct_info, expected):
        assert str(np.asarray(value).dtype) == info.dtype
        dims = dims_of(info)
        assert dims is None or [dim.value for dim in dims] == list(np.shape(value))  # type: ignore[union-attr]
    check_symbolic(main)
    if get_op(f"relax.{case[0]}").compute is None:
        return
    legal = legalize_ops(module)
    is_constant = not any(isinstance(node, relax.Call) for node in walk(legal["main"]))
    assert is_constant or any(isinstance(function, tir.PrimFunc) for function in legal.functions.values())
    _compare(main, expected, run(legal, "main", arrays))


def check_symbolic(main: relax.Function) -> None:
    """With a variable for each size of the parameters, the result's shape is still known or left open, never wrong.

    A call may need to know a size to be checked; such a refusal is fine.
    """
    sizes: dict[int, tir.Var] = {}
    values: dict[tir.Var, int] = {}

    def symbolic(info: relax.TensorStructInfo) -> relax.TensorStructInfo:
        dims = [dim.value for dim in dims_of(info) or ()]  # type: ignore[union-attr]
        for size in dims:
            if size > 1 and size not in sizes:
                sizes[size] = tir.Var("int64", f"n{size}")
                values[sizes[size]] = size
        return tensor_info([sizes.get(size, tir.IntImm("int64", size)) for size in dims], info.dtype)

    params = {p: replace(p, struct_info=symbolic(p.struct_info)) for p in main.params}  # type: ignore[arg-type]
    (binding,) = main.body.blocks[0].bindings
    call = substitute(replace(binding.value, struct_info=None), params)
    try:
        info = infer_struct_info(call)
    except tvms.TvmsError:
        return
    known = {var: tir.IntImm("int64", value) for var, value in values.items()}
    for (got, _), (expected, _) in zip(_infos(info), _infos(main.ret_struct_info), strict=True):
        assert got.dtype == expected.dtype
        for p, q in zip(dims_of(got) or (), dims_of(expected) or (), strict=False):
            assert evaluate(substitute(p, known)) == q.value, f"{p} of {call}"  # type: ignore[union-attr]


def _infos(info: Any) -> list[tuple[Any, None]]:
    if isinstance(info, relax.TupleStructInfo):
        return [leaf for field in info.fields for leaf in _infos(field)]
    return [(info, None)]


def evaluate(dim: tir.PrimExpr) -> int:
    """The value of a dimension without variables."""
    from tvms.ir.interp.expressions import compile_expr

    assert not any(isinstance(node, tir.Var) for node in walk(dim))
    return int(compile_expr(dim)(None))  # type: ignore[arg-type]


def check_compiled(cases: list[Case], rng: np.random.Generator) -> None:
    """The compiled programs compute what the interpreter computes; all are compiled at once."""
    programs = {f"main{number}": program(case, rng) for number, case in enumerate(cases)}
    functions = {name: replace(module["main"], attrs={"global_symbol": name}) for name, (module, _) in programs.items()}
    executable = tvms.compile(legalize_ops(IRModule(functions)), schedule=False, level=1)
    for name, (module, arrays) in programs.items():
        _compare(functions[name], run(module, "main", arrays), executable[name](*arrays))
