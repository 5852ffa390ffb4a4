"""Rows for loops: each becomes a function of the module that returns its state, or calls itself with the next one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ....ir import relax, tir
from ....ir.api.relax import op
from ....ir.base import GlobalVar, StructInfo
from ....ir.building.values import apply, call_function, const
from ....ir.diagnostics import error
from ....ir.infer import infer_struct_info
from ....ir.ops import dims as d
from ....ir.ops.inference import tensor_info
from ....ir.variables import free_variables
from ..values import axis_of, dims_of, rank_of
from .control_flow import predicate_of
from .converter import Converter
from .kinds import Kind, SequenceKind, TensorKind, joined
from .rows import Family
from .sequences import element_kind, joined_elements

ROWS = Family()
_MOST_ROUNDS = 16
"""Maximum number of attempts to find sizes that hold in every iteration."""

_MOST_SEQUENCES = 64
"""Maximum number of sequences in a batch that is unrolled."""

Inside = Callable[[relax.Expr], relax.Expr]
"""Returns the value, inside of the function of a loop, of a value around it."""
Body = Callable[[relax.Expr, list[relax.Expr], Inside], "Step"]
"""Converts the body of a loop for the number of the iteration and the state."""


class Step(Struct):
    """What an iteration computes: the condition to go on, if there is one, the next state, and a value for each collection."""

    condition: relax.Expr | None
    state: list[relax.Expr]
    collected: list[relax.Expr]


class Loop(Struct):
    """A loop: `count` limits the number of iterations, and `condition` decides about the first; either may be missing."""

    count: relax.Expr | None
    condition: relax.Expr | None
    state: list[relax.Expr]
    body: Body
    backwards: Sequence[bool]
    """For each collection, whether it is filled from its end."""


class _Widened(Exception):
    """The struct infos of a state do not hold in every iteration; these are wider."""

    def __init__(self, state: list[_State]) -> None:
        super().__init__()
        self.state = state


class _State(Struct):
    """What is known of a part of the state in every iteration; `varying` are the sizes that differ between iterations."""

    info: StructInfo
    kind: Kind | None
    varying: frozenset[tir.Var] = frozenset()


class Result(Struct):
    """The final state of a loop, its collections as sequences, and the kinds of their elements."""

    state: list[relax.Expr]
    collections: list[relax.Expr]
    kinds: list[Kind | None]


def run_loop(c: Converter, loop: Loop) -> Result:
    """Emit a loop and return its result."""
    state = [_initial(c, value) for value in loop.state]
    for number in range(_MOST_ROUNDS):
        try:
            with c.own_variables(), c.decisions.branch(c.value_name(), number):
                function, arguments, kinds = _LoopFunction(c, loop, state).build()
        except _Widened as widened:
            state = widened.state
        else:
            called: Any = c.emit(call_function(function, arguments))
            finals = [c.with_kind(called[place], part.kind) for place, part in enumerate(state)]
            lists = [called[len(state) + place] for place in range(len(loop.backwards))]
            return Result(finals, [c.emit(part, "_collected") for part in lists], kinds)
    raise c.unsupported("the shapes of its state never agree", "declare the shapes of the state")


def _initial(c: Converter, value: relax.Expr) -> _State:
    info = infer_struct_info(value)
    is_tensor = isinstance(info, relax.TensorStructInfo)
    return _State(info if is_tensor else relax.ObjectStructInfo(), c.kind(value))


class _LoopFunction:
    """Builds the function of one loop."""

    def __init__(self, c: Converter, loop: Loop, state: list[_State]) -> None:
        self._c, self._loop, self._state = c, loop, state
        self._captured: dict[relax.Expr, relax.Var] = {}
        self._sizes: set[tir.Var] = set()
        self._params = [relax.Var("iteration", struct_info=tensor_info([], "int64"))]
        self._condition = relax.Var("condition", struct_info=tensor_info([], "bool"))
        self._states = [self._parameter(f"state_{place}", part) for place, part in enumerate(state)]
        count = len(loop.backwards)
        self._lists = [relax.Var(f"collected_{n}", struct_info=relax.ObjectStructInfo()) for n in range(count)]
        self._params += [self._condition, *self._states, *self._lists]
        self._kinds: list[Kind | None] = []

    def _parameter(self, name: str, part: _State) -> relax.Var:
        variable = relax.Var(name, struct_info=part.info)
        self._c.with_kind(variable, part.kind)
        return variable

    def build(self) -> tuple[GlobalVar, list[relax.Expr], list[Kind | None]]:
        """Return the function, the arguments of its first call, and the kinds of the collected values."""
        c, loop = self._c, self._loop
        builder = c.block_builder
        name = builder.get_unique_name(f"{c.value_name()}_loop") + "_step"
        infos = [_result(part) for part in self._state]
        result = relax.TupleStructInfo((*infos, *[relax.ObjectStructInfo()] * len(self._lists)))
        with builder.function(name, private=True):
            predicate = c.emit(self._test(), "_goes_on")
            with c.own_variables(), builder.branch() as again:
                following = self._following()
                takes = [infer_struct_info(param) for param in self._all_params()]
                itself = GlobalVar(name, struct_info=relax.FuncStructInfo(tuple(takes), result))
                inner = (*following, *self._captured.values(), *self._size_arguments())
                again.result = c.emit(relax.Call(itself, inner, struct_info=result), "_next")
            with c.own_variables(), builder.branch() as done:
                done.result = c.emit(relax.Tuple((*self._states, *self._lists)), "_final")
            chosen = relax.If(predicate, again.sequence(), done.sequence(), struct_info=result)
            function = builder.emit_func_output(c.emit(chosen), self._all_params())
        first = [const(0, "int64"), loop.condition or const(True, "bool"), *loop.state]
        lists = [relax.Tuple(())] * len(self._lists)
        return function, [*first, *lists, *self._captured, *self._size_arguments()], self._kinds

    def _all_params(self) -> list[relax.Var]:
        """Return the parameters, with those for values around the loop and for sizes that no dimension gives."""
        sizes = [relax.Var("sizes", struct_info=info) for info in map(infer_struct_info, self._size_arguments())]
        return [*self._params, *self._captured.values(), *sizes]

    def _size_arguments(self) -> list[relax.Expr]:
        """Return the shape of the sizes that the body uses and no dimension of a parameter gives, if there are any."""
        shapes = [infer_struct_info(param) for param in (*self._params, *self._captured.values())]
        dims = [dim for info in shapes if isinstance(info, relax.TensorStructInfo) for dim in _dims(info)]
        used = {v for dim in dims for v in free_variables(dim) if isinstance(v, tir.Var)} | self._sizes
        unbound = sorted(used - {dim for dim in dims if isinstance(dim, tir.Var)}, key=lambda size: size.name)
        return [relax.ShapeExpr(tuple(unbound))] if unbound else []

    def inside(self, value: relax.Expr) -> relax.Expr:
        """Return a value around the loop inside of its function, where it is a parameter."""
        if isinstance(value, relax.Constant):
            return value
        elements = self._c.size_elements(value)
        if elements is not None:
            parts = [part for part in elements.reshape(-1) if isinstance(part, tir.PrimExpr)]
            self._sizes |= {v for part in parts for v in free_variables(part) if isinstance(v, tir.Var)}
            return value
        if isinstance(value, relax.Tuple):
            return relax.Tuple(tuple(map(self.inside, value.fields)))
        if value not in self._captured:
            name = getattr(value, "name_hint", "captured")
            variable = self._captured[value] = relax.Var(name, struct_info=infer_struct_info(value))
            self._c.with_kind(variable, self._c.kind(value))
        return self._captured[value]

    def _test(self) -> relax.Expr:
        """Return whether there is a next iteration."""
        if self._loop.count is None:
            return self._condition
        return op.logical_and(self._condition, op.less(self._params[0], self.inside(self._loop.count)))

    def _following(self) -> list[relax.Expr]:
        """Return the arguments of the next call: iteration, condition, state, collections."""
        c, loop = self._c, self._loop
        step = loop.body(self._params[0], list(self._states), self.inside)
        state = [_next(c, part, value) for part, value in zip(self._state, step.state, strict=True)]
        if any(new is not part for new, part in zip(state, self._state, strict=True)):
            raise _Widened(state)
        self._kinds = [c.kind(value) for value in step.collected]
        lists = [
            apply("sequence_insert", kept, value, const(0, "int64") if backwards else apply("sequence_length", kept))
            for kept, value, backwards in zip(self._lists, step.collected, loop.backwards, strict=True)
        ]
        condition = const(True, "bool") if step.condition is None else step.condition
        number = op.add(self._params[0], const(1, "int64"))
        following = [number, condition, *step.state, *lists]
        return [value if isinstance(value, relax.Constant) else c.emit(value, "_next") for value in following]


def _dims(info: relax.TensorStructInfo) -> Sequence[tir.PrimExpr]:
    return info.shape.values if isinstance(info.shape, relax.ShapeExpr) else ()


def _result(part: _State) -> StructInfo:
    """Return the struct info of a part of the state after the loop: sizes that vary are not known."""
    return (
        replace(part.info, shape=None) if part.varying and isinstance(part.info, relax.TensorStructInfo) else part.info
    )


def _next(c: Converter, part: _State, value: relax.Expr) -> _State:
    """Return what is known of a part of the state, if `value` may be the next one: `part` itself if it fits."""
    info = infer_struct_info(value)
    if not isinstance(part.info, relax.TensorStructInfo):
        kind = joined([part.kind, c.kind(value)])
        return part if kind == part.kind else _State(part.info, kind)
    if not isinstance(info, relax.TensorStructInfo) or info.dtype != part.info.dtype:
        joined([part.kind, c.kind(value)])
        raise error("E1006", "its state changes its kind between iterations", None, "use an optional value")
    if part.info.ndim == -1:
        return part
    if info.ndim != part.info.ndim:
        return _State(relax.TensorStructInfo(None, info.dtype), TensorKind(info.dtype))
    dims, varying = list(_dims(part.info)), set(part.varying)
    for axis, (now, then) in enumerate(zip(dims, _dims(info), strict=True)):
        if now not in varying and not d.is_equal(now, then):
            dims[axis] = c.new_size(f"{c.value_name()}_dim{axis}")
            varying.add(dims[axis])  # type: ignore[reportArgumentType]
    if len(varying) == len(part.varying):
        return part
    sizes = tuple(d.value_of(dim) for dim in dims)
    return _State(tensor_info(dims, info.dtype), TensorKind(info.dtype, sizes), frozenset(varying))


# --- Rows -----------------------------------------------------------------------------------------------------


def _scalar(value: relax.Expr) -> relax.Expr:
    return value if rank_of(value) == 0 else op.reshape(value, ())


@ROWS.row("Loop", takes_objects=True)
def _loop(c: Converter, a: Any) -> list[relax.Expr]:
    graph, state = a.body, list(a.v_initial)
    collected = len(graph.output) - 1 - len(state)
    if len(graph.input) != 2 + len(state) or collected < 0:
        raise error(
            "E1006", f"its body has {len(graph.input)} inputs and {len(graph.output)} outputs for {len(state)} values"
        )

    def body(number: relax.Expr, now: list[relax.Expr], inside: Inside) -> Step:
        condition, *following = c.subgraph(graph, [number, const(True, "bool"), *now], inside)
        return Step(predicate_of(c, condition), following[: len(now)], following[len(now) :])

    count = None if a.M is None else c.cast(_scalar(a.M), "int64")
    condition = None if a.cond is None else predicate_of(c, a.cond)
    bound = [None if x is None or isinstance(x, relax.Constant) else c.emit(x, "_start") for x in (count, condition)]
    loop = Loop(bound[0] or count, bound[1] or condition, state, body, [False] * collected)
    made = run_loop(c, loop)
    pairs = zip(made.collections, made.kinds, strict=True)
    return [*made.state, *(joined_elements(c, values, kind, 0, True) for values, kind in pairs)]


@ROWS.row("Scan", since=9)
def _scan(c: Converter, a: Any) -> list[relax.Expr]:
    given = a.initial_state_and_scan_inputs
    kept = len(given) - a.num_scan_inputs
    if a.num_scan_inputs < 1 or kept < 0:
        raise error("E1006", f"it has {len(given)} inputs, but {a.num_scan_inputs} of them are to be scanned")
    return scan(c, a, given[:kept], given[kept:], a.scan_input_axes)


@ROWS.row("Scan", since=8)
def _batched_scan(c: Converter, a: Any) -> list[relax.Expr]:
    """Version 8 scans the second dimension for each element of the first one, the batch."""
    given = a.initial_state_and_scan_inputs
    kept = len(given) - a.num_scan_inputs
    batch = d.value_of(dims_of(given[0])[0]) if given else None
    if a.sequence_lens is not None or batch is None or not 1 <= batch <= _MOST_SEQUENCES or kept < 0:
        help = f"use version 9, or a constant batch of at most {_MOST_SEQUENCES} sequences of one length"
        raise c.unsupported("its sequences have lengths of their own, or their number is not constant", help)
    rows: list[list[relax.Expr]] = []
    for place in range(batch):
        parts: list[relax.Expr] = [c.emit(op.take(x, const(place, "int64"), 0), "_sequence") for x in given]
        rows.append([c.emit(value) for value in scan(c, a, parts[:kept], parts[kept:], None)])
    return [op.stack(list(column), 0) for column in zip(*rows, strict=True)]


def scan(
    c: Converter, a: Any, state: list[relax.Expr], inputs: list[relax.Expr], axes: list[int] | None
) -> list[relax.Expr]:
    """Emit a loop over slices of `inputs` along `axes`, and return its final state and the stacked outputs."""
    backwards = getattr(a, "scan_input_directions", getattr(a, "directions", None)) or [0] * len(inputs)
    places = [axis_of(axis, rank_of(x)) for axis, x in zip(axes or [0] * len(inputs), inputs, strict=True)]
    length = dims_of(inputs[0])[places[0]]
    count = c.from_size(length)

    def body(number: relax.Expr, now: list[relax.Expr], inside: Inside) -> Step:
        last = op.subtract(inside(count), op.add(number, const(1, "int64")))
        parts = [
            c.emit(op.take(inside(x), last if reverse else number, place), "_slice")
            for x, place, reverse in zip(inputs, places, backwards, strict=True)
        ]
        following = c.subgraph(a.body, [*now, *parts], inside)
        return Step(None, following[: len(now)], following[len(now) :])

    outputs = len(a.body.output) - len(state)
    if outputs < 0:
        raise error("E1006", f"its body has {len(a.body.output)} outputs for {len(state)} values")
    reversed_outputs = getattr(a, "scan_output_directions", None) or [0] * outputs
    made = run_loop(c, Loop(count, None, state, body, [bool(flag) for flag in reversed_outputs]))
    stacked = [
        joined_elements(c, values, kind, axis, True, length)
        for values, kind, axis in zip(
            made.collections, made.kinds, getattr(a, "scan_output_axes", None) or [0] * outputs, strict=True
        )
    ]
    return [*made.state, *stacked]


@ROWS.row("SequenceMap", takes_objects=True)
def _sequence_map(c: Converter, a: Any) -> list[relax.Expr]:
    inputs = [a.input_sequence, *a.additional_inputs]
    is_sequence = [isinstance(c.kind(value), SequenceKind) for value in inputs]
    element_kind(c, a.input_sequence)
    kinds = [
        element_kind(c, value) if several else c.kind(value) for value, several in zip(inputs, is_sequence, strict=True)
    ]

    def body(number: relax.Expr, now: list[relax.Expr], inside: Inside) -> Step:
        parts = [
            c.declared(apply("sequence_at", inside(value), number), kind) if several else inside(value)
            for value, kind, several in zip(inputs, kinds, is_sequence, strict=True)
        ]
        return Step(None, [], c.subgraph(a.body, parts, inside))

    count = c.emit(apply("sequence_length", a.input_sequence), "_length")
    made = run_loop(c, Loop(count, None, [], body, [False] * len(a.body.output)))
    pairs = zip(made.collections, made.kinds, strict=True)
    return [c.with_kind(values, SequenceKind(kind)) for values, kind in pairs]
