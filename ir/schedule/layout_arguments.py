"""Kinds of arguments for layouts: index maps, padding values, and buffers accessed by a block."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from .. import make, tir
from ..dtype import is_float, is_int
from ..index_dtype import IndexDtype
from ..spelling import did_you_mean
from ..visit import substitute, walk
from .analysis.caching import ACCESSED
from .arguments import Mismatch, Reading, elements, kind, read_integer
from .conditions import ARGUMENT, Condition, name_of
from .program import Program

AXIS_SEPARATOR = "axis_separator"
"""Marker that a function may return between indices; the dimensions before and after it are flattened separately
(TVM: `IndexMap.AXIS_SEPARATOR`).
"""
_INDEX_DTYPE = "int64"

INJECTIVE = Condition(
    "E0553",
    "the index map is provably injective, with non-negative indices",
    "use all indices, in sums, quotients and remainders, or set assume_injective_transform=True",
)
PADDING_VALUE = Condition(
    "E0555",
    "the padding value is a single expression with the dtype of the buffer, which reads no buffer",
    "give a number of that dtype, or lambda i, j: …, with an index for each dimension of the new layout",
)


class Layout(Struct, frozen=True):
    """Index map as it was given: a node of the IR, or a function of indices."""

    given: tir.IndexMap | Callable[..., Any]
    reading: Reading

    def of(
        self, program: Program, argument: str, dimensions: int, dtype: str, keeps_constants: bool = False
    ) -> tuple[tir.IndexMap, tuple[int, ...]]:
        """Return the map for this number of dimensions, with indices of `dtype`, and the positions of axis separators.

        With `keeps_constants`, results without an index keep the dtype in which a map of the IR gives them. The trace records the map with int64 indices and the handles of numbers. Raises E0501 if the map has another
        number of dimensions.
        """
        index_map, separators = self._made(argument, dimensions)
        count = len(index_map.initial_indices)
        if count != dimensions:
            reason = f"expected a map of {dimensions} indices, got {count}"
            raise ARGUMENT.refuse(reason, argument=argument, help="declare one parameter for each index")
        if keeps_constants and not isinstance(self.given, tir.IndexMap):
            index_map = _with_constants(index_map, dtype)
        program.recorded[argument] = typed(index_map, _INDEX_DTYPE, keeps_constants)
        return typed(_resolved(index_map, self.reading), dtype, keeps_constants), separators

    def _made(self, argument: str, dimensions: int) -> tuple[tir.IndexMap, tuple[int, ...]]:
        if isinstance(self.given, tir.IndexMap):
            return self.given, ()
        try:
            initial, final, separators = indices_of(self.given, dimensions, _INDEX_DTYPE)
        except Mismatch as mismatch:
            raise ARGUMENT.refuse(str(mismatch), argument=argument, help="return index expressions") from None
        return tir.IndexMap(initial, final), separators


class Padding(Struct, frozen=True):
    """Value of the padding as it was given: a number, or a map from the index of an element to its value."""

    given: Any
    reading: Reading

    def of(self, program: Program, argument: str, dimensions: int, buffer: tir.Buffer, dtype: str) -> tir.IndexMap:
        """Return the value for a layout with the given number of dimensions and indices of `dtype`.

        Python numbers are converted to the dtype of `buffer`: int for integers, float for floats. Refused if the value
        does not fit (E0555).
        """
        if isinstance(self.given, tir.PrimExpr | int | float):
            variables = [tir.Var(dtype, f"i{index}") for index in range(dimensions)]
            value = tir.IndexMap(tuple(variables), (_number(self.given, buffer),))
        else:
            value, _ = Layout(self.given, self.reading).of(program, argument, dimensions, dtype)
        self._check(value, argument, buffer)
        return value

    def _check(self, value: tir.IndexMap, argument: str, buffer: tir.Buffer) -> None:
        if len(value.final_indices) != 1:
            raise PADDING_VALUE.refuse(f"expected 1 padding value, got {len(value.final_indices)}", argument=argument)
        (expression,) = value.final_indices
        if expression.dtype != buffer.dtype:
            reason = f"the padding value is {expression.dtype}, but the elements of '{buffer.name}' are {buffer.dtype}"
            raise PADDING_VALUE.refuse(reason, argument=argument)
        load = next((node for node in walk(expression) if isinstance(node, tir.BufferLoad)), None)
        if load is not None:
            raise PADDING_VALUE.refuse(f"the padding value reads '{load.buffer.name}'", argument=argument)


def indices_of(
    function: Callable[..., Any], dimensions: int | None, dtype: str
) -> tuple[tuple[tir.Var, ...], tuple[tir.PrimExpr, ...], tuple[int, ...]]:
    """Return the parameters of a function of indices, its results, and the positions of axis separators among these.

    Raises Mismatch if a result is not an index.
    """
    values = parameters_of(function, dimensions, dtype)
    positional = [variable for name, variable in values.items() if not name.startswith("*")]
    named = {name[1:]: variable for name, variable in values.items() if name.startswith("*")}
    result = function(*positional, **named)
    indices: list[tir.PrimExpr] = []
    separators: list[int] = []
    for item in result if isinstance(result, list | tuple) else (result,):  # type: ignore[reportUnknownVariableType]
        if isinstance(item, str) and item == AXIS_SEPARATOR:
            separators.append(len(indices))
        else:
            indices.append(_index(item, dtype))
    return tuple(values.values()), tuple(indices), tuple(separators)


def parameters_of(
    function: Callable[..., Any], dimensions: int | None, dtype: str = _INDEX_DTYPE
) -> dict[str, tir.Var]:
    """Return a variable for each parameter of a function of indices; `*indices` receives the remaining ones.

    Names of keyword-only parameters are prefixed with a star. Without `dimensions`, `*indices` receives none.
    """
    parameters = inspect.signature(function).parameters.values()
    own = sum(parameter.kind is not inspect.Parameter.VAR_POSITIONAL for parameter in parameters)
    rest = 0 if dimensions is None else dimensions - own
    names: list[str] = []
    for parameter in parameters:
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            names.extend([f"{parameter.name}_{index}" for index in range(rest)])
        else:
            names.append(f"*{parameter.name}" if parameter.kind is inspect.Parameter.KEYWORD_ONLY else parameter.name)
    return {name: tir.Var(dtype, name.lstrip("*")) for name in names}


def _index(value: Any, dtype: str) -> tir.PrimExpr:
    if isinstance(value, int):
        return make.const(value, dtype)
    if not isinstance(value, tir.PrimExpr):
        raise Mismatch(f"expected an index, got {value!r}")
    return value


def _number(value: Any, buffer: tir.Buffer) -> tir.PrimExpr:
    fits = is_int(buffer.dtype) if isinstance(value, int) else isinstance(value, float) and is_float(buffer.dtype)
    return make.const(value, buffer.dtype) if fits else make.to_expr(value)


def _resolved(index_map: tir.IndexMap, reading: Reading) -> tir.IndexMap:
    return tir.IndexMap(
        index_map.initial_indices,
        tuple([reading.expression(final_index) for final_index in index_map.final_indices]),
        index_map.inverse_index_map,
    )


def _with_constants(index_map: tir.IndexMap, dtype: str) -> tir.IndexMap:
    """Return a map whose constant results have `dtype`."""
    final = [make.cast(item, dtype) if isinstance(item, tir.IntImm) else item for item in index_map.final_indices]
    return replace(index_map, final_indices=tuple(final))


def typed(index_map: tir.IndexMap, dtype: str, keeps_constants: bool = False) -> tir.IndexMap:
    """Return a map with indices of `dtype`; other variables in it keep their dtypes (TVM: `LegalizeIndexMapDType`).

    With `keeps_constants`, constant results also keep theirs.
    """
    variables = {initial_index: tir.Var(dtype, initial_index.name) for initial_index in index_map.initial_indices}
    final = [substitute(final_index, variables) for final_index in index_map.final_indices]
    known = {node: node for value in final for node in walk(value) if isinstance(node, tir.Var)}
    converter = IndexDtype(dtype, known)
    indices = [item if keeps_constants and isinstance(item, tir.IntImm) else converter.index(item) for item in final]
    return tir.IndexMap(tuple(variables.values()), tuple(indices))


IndexMap: TypeAlias = Layout
PadValue: TypeAlias = Padding
AccessedBuffer: TypeAlias = tuple[str, int] | str | tir.Buffer


@kind("IndexMap", "an index map, or a function of indices")
def read_index_map(reading: Reading, value: Any) -> Layout:
    if not (isinstance(value, tir.IndexMap) or callable(value)):
        raise Mismatch
    return Layout(value, reading)


@kind("PadValue", "a number, or a function of the indices in the new layout")
def read_pad_value(reading: Reading, value: Any) -> Padding:
    if isinstance(value, tir.PrimExpr):
        value = reading.expression(value)
    if not (isinstance(value, tir.PrimExpr | tir.IndexMap | int | float) or callable(value)):
        raise Mismatch
    return Padding(value, reading)


@kind("AccessedBuffer", 'a buffer: ("read", 0), ("write", 0), or its name')
def read_accessed_buffer(reading: Reading, value: Any) -> tuple[str, int] | str | tir.Buffer:
    if isinstance(value, str | tir.Buffer):
        return value
    pair = elements(value)
    if len(pair) != 2 or pair[0] not in ("read", "write"):
        raise Mismatch
    return pair[0], read_integer(reading, pair[1])


def buffer_accessed(
    program: Program, block: tir.Block, named: tuple[str, int] | str | tir.Buffer
) -> tuple[str, tir.Buffer]:
    """Return the accessed buffer that argument `buffer` names, with "read" or "write".

    If a block reads and writes a buffer with the given name, "write" is returned. Refused if no buffer or several have
    the name (E0547).
    """
    if isinstance(named, tuple):
        which, index = named
        regions = block.reads if which == "read" else block.writes
        if not 0 <= index < len(regions):
            reason = f"index {index} is out of range: {name_of(block)} {which}s {len(regions)} buffers"
            raise ACCESSED.refuse(reason, block, argument="buffer")
        return which, regions[index].buffer
    found = {
        region.buffer: (which, index)
        for which, regions in (("read", block.reads), ("write", block.writes))
        for index, region in enumerate(regions)
        if region.buffer is named or region.buffer.name == named
    }
    if len(found) != 1:
        name = named if isinstance(named, str) else named.name
        many = "several buffers" if found else "no buffer"
        names = [] if found else [region.buffer.name for region in (*block.reads, *block.writes)]
        help = did_you_mean(name, names)
        raise ACCESSED.refuse(f"{name_of(block)} accesses {many} '{name}'", block, argument="buffer", help=help)
    ((buffer, place),) = found.items()
    if isinstance(named, tir.Buffer):
        program.recorded["buffer"] = place
    return place[0], buffer
