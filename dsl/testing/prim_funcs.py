"""Valid loop-level functions whose accesses are all in bounds."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cache

from hypothesis import strategies as st

from ...ir import make, tir
from ...ir.diagnostics import error
from .choices import Choices
from .expressions import DTYPES, OPERATORS
from .features import FEATURES, has_block
from .kernels import Kernel
from .options import LONGEST, MAX_BLOCKS, Leaf, Options, check_names
from .stages import ALWAYS, BLOCKS, DISORDERED, OFTEN, SIZES, STAGES, WEIGHTS


def prim_funcs(
    dtypes: Collection[str] = DTYPES,
    max_blocks: int = MAX_BLOCKS,
    max_extent: int = LONGEST,
    features: Collection[str] = (),
    without: Collection[str] = (),
    leaf: Leaf | None = None,
    operators: Collection[str] | None = None,
    stages: Sequence[str] = tuple(STAGES),
    symbolic: bool | None = None,
    name: str = "main",
) -> st.SearchStrategy[tir.PrimFunc]:
    """Generate functions of one to `max_blocks` blocks, not counting the root. They pass the verifier, can be
    interpreted, and shrink to one block with few loops.

    `dtypes` are those of buffers and scalars; `max_extent` is the maximum static size. Each function has all of
    `features` and none of `without`, which are names in `FEATURES`. `operators` are the operations in values
    (`OPERATORS` lists all); `leaf` is a function from a dtype to a strategy of constants. `stages` are the kinds of
    loop nests (`STAGES` lists all). The results of "disordered" stages may depend on the order of block instances,
    which the verifier reports; they are drawn only if they are named. `symbolic` says whether sizes may be symbolic;
    None means sometimes.

    E0818 if a name is unknown or features exclude each other.
    """
    check_names("dtype", dtypes, DTYPES)
    check_names("stage", stages, _EVERY)
    options = Options(
        tuple(dtype for dtype in DTYPES if dtype in dtypes),
        None if operators is None else frozenset(check_names("operator", operators, OPERATORS)),
        frozenset(check_names("feature", features, FEATURES)),
        frozenset(check_names("feature", without, FEATURES)),
        max_blocks,
        max_extent,
        leaf,
    )
    if "symbolic extent" in options.features | options.without:
        symbolic = "symbolic extent" in options.features
    check_options(options, stages)
    return _prim_funcs(options, tuple(stages), symbolic, name)


def check_options(options: Options, stages: Sequence[str]) -> None:
    """Raise E0818 if no function satisfies the options."""
    if not options.dtypes or options.max_blocks < 1 or options.max_extent < 1:
        raise error("E0818", "functions need a dtype, a block, and an extent of at least 1")
    if not any(is_allowed(stage, options, options.max_blocks) for stage in stages):
        raise error("E0818", "no stage is allowed", None, f"the stages: {', '.join(STAGES)}")
    both = sorted(options.features & options.without)
    if both:
        raise error("E0818", f"feature '{both[0]}' is both in features and in without")
    for feature, needed in NEEDED.items():
        if feature in options.features and needed in options.without:
            raise error("E0818", f"feature '{feature}' needs feature '{needed}', which is excluded")
    for feature in sorted(options.features):
        if FEATURES[feature].blocks > options.max_blocks:
            raise error("E0818", f"feature '{feature}' needs {FEATURES[feature].blocks} blocks, more than {options.max_blocks}")  # fmt: skip
        if not set(_stages_for(feature, stages, options)):
            raise error(
                "E0818", f"no allowed stage has feature '{feature}'", None,
                f"allow one of the stages: {', '.join(FEATURES[feature].stages)}",
            )  # fmt: skip


def _stages_for(feature: str, stages: Sequence[str], options: Options) -> list[str]:
    own = FEATURES[feature].stages
    return [stage for stage in stages if (not own or stage in own) and is_allowed(stage, options, options.max_blocks)]


def is_allowed(stage: str, options: Options, room: int) -> bool:
    """Return whether a function that may have `room` more blocks may contain `stage`."""
    is_small = BLOCKS.get(stage, 1) <= room and SIZES.get(stage, 1) <= options.max_extent
    signed = ("int8", "int16", *([] if "large integer" in options.without else ["int32", "int64"]))
    if stage == "argmax" and not set(signed) & set(options.dtypes):
        return False  # places begin at -1, values at the least integer, and no number differs from itself
    return is_small and options.without.isdisjoint((*ALWAYS.get(stage, ()), *OFTEN.get(stage, ())))


@st.composite
def _prim_funcs(
    draw: st.DrawFn, options: Options, stages: tuple[str, ...], symbolic: bool | None, name: str
) -> tir.PrimFunc:
    return prim_func(Choices(draw), options, stages, symbolic, name)


_EVERY = {**STAGES, **DISORDERED}
NEEDED = {
    "gather": "computed index",
    "computed extent": "split axis",
    "software pipeline": "shared loop",
    "two names": "view",
}
"""Features that require another one."""
DEFAULT = Options(DTYPES)


def prim_func(
    choose: Choices,
    options: Options = DEFAULT,
    stages: Sequence[str] = tuple(STAGES),
    symbolic: bool | None = None,
    name: str = "main",
    theme: frozenset[str] | None = None,
) -> tir.PrimFunc:
    """Return a function like those of `prim_funcs`, using the choices of a larger example. `theme` are features that are frequent
    in it; None chooses them.
    """
    theme = _theme(choose, options, tuple(stages)) if theme is None else theme
    if symbolic is None:
        symbolic = "symbolic extent" in options.features | theme or choose.rarely(4)
        symbolic = symbolic and "symbolic extent" not in options.without
    kernel = Kernel(choose, options, symbolic, theme)
    count, parts = (
        choose.number(max((FEATURES[key].blocks for key in theme), default=1), options.max_blocks),
        list[tir.Stmt](),
    )
    least = min(BLOCKS.get(stage, 1) for stage in stages)
    while kernel.room > 0 and (len(parts) < count or kernel.pending):
        is_last = bool(kernel.pending) or len(parts) >= count - 1
        kernel.reserved = 0 if is_last else least * (count - len(parts) - 1)
        known = [key for key in stages if is_allowed(key, options, kernel.free)]
        if not known and not is_last:
            is_last, kernel.reserved = True, 0
            known = [key for key in stages if is_allowed(key, options, kernel.room)]
        if not known:
            break
        stage = choose.pick(_fitting(kernel, known))
        kernel.met(*ALWAYS.get(stage, ()))
        parts.append(_EVERY[stage](kernel, is_last))
    if has_block(parts[-1]) and kernel.wants("condition", 12):
        parts[-1] = tir.IfThenElse(_condition(kernel), parts[-1])
    if kernel.pending:
        raise error(
            "E0818", f"no function of {options.max_blocks} blocks was found with feature '{next(iter(kernel.pending))}'", None,
            "allow more blocks, or ask for fewer features",
        )  # fmt: skip
    attrs: dict[str, object] = {"global_symbol": name}
    if choose.rarely():
        attrs["tir.noalias"] = True
    return kernel.function(parts, attrs)


_MOST = 4
"""Maximum number of features in a theme."""
_FAVOR = 3
"""Weight that a feature of the theme adds to the stages that can have it."""


def _theme(choose: Choices, options: Options, stages: tuple[str, ...]) -> frozenset[str]:
    """Choose features that are frequent in this function, or none, so that rare features occur together (swarm testing)."""
    if options.features or choose.number(0, 1) == 0:
        return frozenset()
    names = _themes(options.without, options.max_blocks, options.max_extent, stages)
    return frozenset([choose.pick(names) for _ in range(choose.number(1, _MOST))]) if names else frozenset()


@cache
def _themes(without: frozenset[str], blocks: int, extent: int, stages: tuple[str, ...]) -> tuple[str, ...]:
    """Return the features that functions of these stages may have."""
    options = Options(DTYPES, without=without, max_blocks=blocks, max_extent=extent)
    return tuple([
        name for name, row in FEATURES.items()
        if name not in without and row.blocks <= blocks and _stages_for(name, stages, options)
    ])  # fmt: skip


def _fitting(kernel: Kernel, known: Sequence[str]) -> Sequence[str]:
    """Return the stages that can make the next requested feature, otherwise all."""
    for feature in kernel.pending:
        fitting = [name for name in known if name in FEATURES[feature].stages]
        if fitting:
            return fitting
    weights = {name: WEIGHTS.get(name, 1) for name in known}
    for feature in kernel.theme:
        for name in weights.keys() & set(FEATURES[feature].stages):
            weights[name] += _FAVOR
    return [name for name in known for _ in range(weights[name])]


def _condition(kernel: Kernel) -> tir.PrimExpr:
    """Return a condition on a parameter."""
    if kernel.allows("integer scalar"):
        return make.greater(kernel.scalar("int32"), 1)
    element = kernel.element(kernel.source(), ())
    return make.greater(element, make.const(1, element.dtype))
