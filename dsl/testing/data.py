"""Random arguments of functions: edge values, constants of the program, sizes around vectors and tiles, and arrays that
are strided, misaligned, or share memory where that is allowed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from hypothesis import strategies as st
from msgspec import Struct

from ...ir import relax, tir
from ...ir.base import BaseFunc
from ...ir.diagnostics import error
from ...ir.dtype import is_bool, is_float
from ...ir.numpy_dtype import numpy_dtype
from ...ir.variables import free_variables
from ...ir.visit import walk
from ..entries import Argument, arguments_of
from .options import check_names

if TYPE_CHECKING:
    import numpy as np

Range = tuple[float, float]
"""The minimum and the maximum of an argument, both inclusive."""
PROFILES = ("plain", "sparse", "dense")
"""How many edge values random inputs contain: none, a few, many."""
_SHARE = {"sparse": 0.1, "dense": 0.6}
_SIZES = (0, 1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 33)
"""Sizes around the widths of vectors and tiles."""
_CACHE_LINE = 64


class Drawn(Struct, frozen=True):
    """Arguments for one call and their classes, such as "dense" or "strided A"."""

    values: list[Any]
    classes: tuple[str, ...]

    def report(self) -> None:
        """Count the classes in the statistics of Hypothesis if one of its tests is running."""
        import hypothesis

        if hypothesis.currently_in_test_context():
            for key in dict.fromkeys(name.partition(" = ")[0].partition(" ")[0] for name in self.classes):
                hypothesis.event(f"inputs: {key}")


def random_inputs(
    function: tir.PrimFunc | relax.Function,
    random: np.random.Generator,
    sizes: Mapping[str, int] | None = None,
    integers: tuple[int, int] | None = (0, 4),
    *,
    profile: str = "plain",
    constants: Sequence[float] = (),
    ranges: Mapping[str, Range] | None = None,
) -> list[Any]:
    """Return a value for each parameter of `function`; E0806 if one is neither a tensor nor a scalar.

    `profile` is "plain" (floats in quarters from -2 to 2), "sparse" (with a few edge values of the dtype: NaN,
    infinities, -0.0, denormals, ties, limits of integers, values around powers of two, and `constants` with their
    neighbors) or "dense" (with many of them). Elements of integer tensors are from `integers`, upper bound exclusive
    (unsigned ones wrap around), or, by default, follow the profile; scalar integers are from 1 to 5. `ranges` gives the
    minimum and maximum of parameters by name. Symbolic dimensions are from `sizes` by name, otherwise 1 to 5, and up to
    33 unless the profile is "plain". Arrays have the strides that their buffers declare.
    """
    return draw_inputs(function, random, sizes, integers, profile, constants, ranges or {}, least=1).values


_ATTEMPTS = 20
"""Number of draws of sizes, which may give an extent such as `16 - n` a negative value."""


def draw_inputs(
    function: tir.PrimFunc | relax.Function,
    random: np.random.Generator,
    sizes: Mapping[str, int] | None,
    integers: tuple[int, int] | None,
    profile: str,
    constants: Sequence[float],
    ranges: Mapping[str, Range],
    least: int = 0,
) -> Drawn:
    """Like `random_inputs`, but also return the classes of the inputs. Symbolic dimensions and scalar integers, which may be
    sizes as well, are at least `least`, and at least 1 if the profile is "plain".
    """
    from ...ir.interp.expressions import compile_expr

    known: Any = {}
    least = 1 if profile == "plain" else least

    def dimension(size: tir.PrimExpr, is_small: bool) -> int:
        for variable in free_variables(size):
            if isinstance(variable, tir.Var) and variable not in known:
                options = range(least, 6) if is_small or len(known) > 1 else [n for n in _SIZES if n >= least]
                known[variable] = (sizes or {}).get(variable.name, int(random.choice(options)))
        return int(compile_expr(size)(known))

    arguments, negative = arguments_of(function), list[str]()
    for attempt in range(_ATTEMPTS):
        known.clear()
        is_small = profile == "plain" or attempt > 0
        shapes = [tuple([dimension(size, is_small) for size in argument.shape or ()]) for argument in arguments]
        negative = [
            argument.name for argument, shape in zip(arguments, shapes, strict=True) if min(shape, default=0) < 0
        ]
        if not negative:
            break
    else:
        help = "give sizes for which no extent is negative"
        raise error("E0806", f"the sizes that were drawn give '{negative[0]}' a negative extent", None, help)
    named = [f"{variable.name} = {value}" for variable, value in known.items()]
    values = [
        _value(
            argument,
            shape,
            random,
            (least, 6) if argument.shape is None else integers,
            profile,
            constants,
            ranges.get(argument.name),
        )
        for argument, shape in zip(arguments, shapes, strict=True)
    ]
    classes = [profile, *named]
    if isinstance(function, tir.PrimFunc):
        classes += _lay_out(function, arguments, values, random, known, is_odd=profile != "plain")
    values = [known.get(param, value) for param, value in zip(function.params, values, strict=True)]
    return Drawn(values, tuple(classes))


# --- Values -------------------------------------------------------------------------------------------------------


def _value(
    argument: Argument, shape: tuple[int, ...], random: np.random.Generator, integers: tuple[int, int] | None,
    profile: str, constants: Sequence[float], limits: Range | None,
) -> Any:  # fmt: skip
    import numpy as np

    if limits is not None:
        drawn = random.uniform(*limits, shape) if is_float(argument.dtype) else random.integers(int(limits[0]), int(limits[1]) + 1, shape)  # fmt: skip
        typed = np.asarray(drawn).astype(numpy_dtype(argument.dtype))
        return typed[()] if argument.shape is None else typed
    value = _plain(argument, shape, random, integers)
    if profile != "plain" and (is_float(argument.dtype) or integers is None):
        return _with_edges(value, argument, random, _SHARE[profile], constants)
    return value


def _with_edges(value: Any, argument: Argument, random: Any, share: float, constants: Sequence[float]) -> Any:
    """Return `value` with about `share` of its elements replaced by edge values of its dtype or neighbors of constants."""
    import numpy as np

    from .values import float_edges, int_edges, neighbors

    if is_bool(argument.dtype):
        return value
    edges: Any = float_edges(argument.dtype, finite=False) if is_float(argument.dtype) else int_edges(argument.dtype)
    near = neighbors(constants, argument.dtype)
    is_edge: Any = random.random(value.shape) < 0.5 if len(near) else None
    chosen: Any = random.choice(edges, value.shape)
    if len(near):
        chosen = cast("Any", np.where(is_edge, chosen, random.choice(near, value.shape)))
    is_chosen: Any = random.random(value.shape) < share
    mixed = cast("Any", np.where(is_chosen, chosen, value)).astype(value.dtype)
    return mixed[()] if argument.shape is None else mixed


def _plain(
    argument: Argument, shape: tuple[int, ...], random: np.random.Generator, integers: tuple[int, int] | None
) -> Any:
    import numpy as np

    dtype, (low, high) = argument.dtype, integers or (-8, 9)
    if is_float(dtype):
        array = random.integers(-8, 9, shape) / 4
    elif is_bool(dtype):
        array = random.integers(0, 2, shape)
    else:
        array = random.integers(low, high, shape)
    typed = np.asarray(array).astype(numpy_dtype(dtype))
    return typed[()] if argument.shape is None else typed


# --- Memory -------------------------------------------------------------------------------------------------------


def _lay_out(
    function: tir.PrimFunc, arguments: Sequence[Argument], values: list[Any], random: np.random.Generator, known: Any, is_odd: bool,
) -> list[str]:  # fmt: skip
    """Copy arrays into memory that is laid out as their buffers declare, and return the classes of the layouts. With
    `is_odd`, some arrays are not aligned to cache lines, or two read-only ones share memory.
    """

    classes: list[str] = []
    first: dict[Any, int] = {}
    for place, (param, argument) in enumerate(zip(function.params, arguments, strict=True)):
        buffer, value = function.buffer_map.get(param), values[place]
        if buffer is None or not _is_array(value):
            continue
        if buffer.strides and len(buffer.strides) == value.ndim:
            strides = _strides(buffer, value.shape, random, known)
            if not value.size:  # the strides of an array without elements do not matter
                continue
            values[place] = placed(value, strides)
            classes.append(f"strided {buffer.name}")
        elif is_odd and not argument.is_result and random.random() < 0.3:
            key = (value.shape, value.dtype.str)
            if key in first and not _written_by_pointer(function):
                values[place] = values[first[key]]
                classes.append(f"{buffer.name} shares memory")
            first.setdefault(key, place)
        elif is_odd and random.random() < 0.3:
            values[place] = placed(value, None, offset=int(value.itemsize))
            classes.append(f"unaligned {buffer.name}")
    return classes


def _written_by_pointer(function: tir.PrimFunc) -> bool:
    """Return whether anything but a store may write, so that the read-only parameters are unknown."""
    return any(isinstance(node, tir.Call) and any(isinstance(arg, tir.Var) and arg.dtype == "handle" for arg in node.args) for node in walk(function.body))  # fmt: skip


def _strides(buffer: tir.Buffer, shape: tuple[int, ...], random: np.random.Generator, known: Any) -> tuple[int, ...]:
    """Return the strides of a buffer in elements. Unknown strides leave room for the inner dimensions, or slightly more."""
    from ...ir.interp.expressions import compile_expr

    found: list[int] = []
    room = 1
    for stride, size in reversed(list(zip(buffer.strides, shape, strict=True))):
        for variable in free_variables(stride):
            if isinstance(variable, tir.Var) and variable not in known:
                known[variable] = room + int(random.integers(0, 4))
        found.insert(0, int(compile_expr(stride)(known)))
        room = max(room, found[0] * max(size, 1))
    return tuple(found)


def _is_array(value: Any) -> bool:
    import numpy as np

    return isinstance(value, np.ndarray)


def placed(value: Any, strides: tuple[int, ...] | None, offset: int = 0) -> Any:
    """Return a copy of an array with `strides` in elements, which begins `offset` bytes after a cache line boundary."""
    import numpy as np

    if strides is None:
        strides = tuple([step // value.itemsize for step in np.empty(value.shape, value.dtype).strides])
    reaches = [(size - 1) * step for size, step in zip(value.shape, strides, strict=True)] if value.size else []
    before, after = -sum(min(reach, 0) for reach in reaches), 1 + sum(max(reach, 0) for reach in reaches)
    memory = np.full((before + after) * value.itemsize + 2 * _CACHE_LINE, 0xA5, np.uint8)
    start = -memory.ctypes.data % _CACHE_LINE + offset
    flat = memory[start : start + (before + after) * value.itemsize].view(value.dtype)
    copy = np.lib.stride_tricks.as_strided(flat[before:], value.shape, [step * value.itemsize for step in strides])
    copy[...] = value
    return copy


def copies(values: Sequence[Any]) -> list[Any]:
    """Return arguments for one call: arrays are copied with their strides and alignment; an array passed twice is copied once."""
    import numpy as np

    known: dict[int, Any] = {}
    for value in values:
        if id(value) in known:
            continue
        if not _is_array(value):
            known[id(value)] = value.copy() if hasattr(value, "copy") else value
        elif value.strides == np.empty(value.shape, value.dtype).strides:
            off = value.ctypes.data % _CACHE_LINE if value.base is not None else 0
            known[id(value)] = placed(value, None, off) if off else value.copy()
        else:
            known[id(value)] = placed(value, tuple([step // value.itemsize for step in value.strides]))
    return [known[id(value)] for value in values]


def with_special_values(value: Any, seed: int) -> Any:
    """Return an array with some floats replaced by special values such as NaN."""
    import numpy as np

    if np.ndim(value) and is_float(value.dtype.name) and value.size and seed % 3:
        (array,) = copies([value])
        specials = np.array([np.nan, np.inf, -np.inf, -0.0, 0.0]).astype(array.dtype)
        random: Any = np.random.default_rng(seed)
        places: Any = random.integers(0, array.size, 1 + array.size // 4)
        array[np.unravel_index(places, array.shape)] = random.choice(specials, len(places))
        return array
    return value


def constants_of(*functions: BaseFunc) -> tuple[float, ...]:
    """Return the distinct numbers in functions: floats of their values, and integers, which may also be sizes and offsets."""
    nodes = (node for function in functions for node in walk(function))
    found: dict[float, float] = {}
    for node in nodes:
        if isinstance(node, tir.FloatImm) or (isinstance(node, tir.IntImm) and node.value not in found):
            found[node.value] = node.value
    return tuple(found.values())


# --- As a strategy ------------------------------------------------------------------------------------------------


def inputs(
    function: tir.PrimFunc | relax.Function,
    sizes: Mapping[str, int] | None = None,
    ranges: Mapping[str, Range] | None = None,
    elements: Mapping[str, st.SearchStrategy[Any]] | None = None,
    profiles: Collection[str] = PROFILES,
    integers: tuple[int, int] | None = None,
) -> st.SearchStrategy[dict[str, Any]]:
    """Generate arguments of `function` by parameter name, in order: plain numbers and edge values of each dtype.

    `sizes` gives symbolic sizes by name. The others, and scalar integers, may be 0 unless the profile is "plain". `ranges`
    gives the minimum and maximum of parameters. `elements` gives strategies for the elements of parameters; larger arrays
    repeat the drawn elements. `profiles` says how many edge values there are: "plain", "sparse" or "dense". An unknown name
    is E0818.
    """
    names = [argument.name for argument in arguments_of(function)]
    check_names("parameter", (*(ranges or {}), *(elements or {})), names)
    known = [profile for profile in PROFILES if profile in check_names("profile", profiles, PROFILES)]
    constants = constants_of(function)

    @st.composite
    def drawn(draw: st.DrawFn) -> dict[str, Any]:
        import numpy as np

        profile, seed = draw(st.sampled_from(known)), draw(st.integers(0, 2**32 - 1))
        random = np.random.default_rng(seed)
        values = draw_inputs(function, random, sizes, integers, profile, constants, ranges or {}).values
        found = dict(zip(names, values, strict=True))
        for name, strategy in (elements or {}).items():
            found[name] = _filled(found[name], draw(st.lists(strategy, min_size=1, max_size=_ELEMENTS)))
        return found

    return drawn()


_ELEMENTS = 16
"""Number of elements of an array that are drawn individually."""


def _filled(value: Any, elements: Sequence[Any]) -> Any:
    """Return an array or scalar with its elements replaced."""
    import numpy as np

    if not _is_array(value):
        return np.asarray(elements[0]).astype(value.dtype)[()]
    (array,) = copies([value])
    array[...] = np.resize(np.asarray(elements), value.shape).astype(value.dtype)
    return array
