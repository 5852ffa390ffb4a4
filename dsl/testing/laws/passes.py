"""Passes do not change what a graph computes. Their results are valid and survive printing and parsing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from inspect import signature
from typing import Any

from hypothesis import strategies as st
from msgspec import Struct

from ....ir.base import IRModule, Source
from ....ir.equal import structural_equal
from ....ir.passes.instrument import VerifyEach
from ....ir.passes.pipelines import PIPELINES
from ....ir.passes.transform import Pass, PassContext, Sequential, get_pass, passes
from ...load import parse_source
from ..choices import Choices
from ..graph import Operator
from ..networks import batch_norm, convolution, network_modules, products
from ..oracle import Execute, assert_equivalent, profiles
from ..overwriting import overwriting
from ..smaller import programs_in
from .law import Law, module_constructs

TRAINING = {"DecomposeOpsForInference": False, "DecomposeOpsForTraining": True}
"""Whether batch normalization is in training mode, for passes that assume one."""
ROUNDING = {"ToMixedPrecision": 0.1}
"""Tolerance of passes that reduce precision."""
REASSOCIATING = ("AdjustMatmulOrder", "ExpandMatmulOfSum")
"""Passes that change the order of additions: an infinity or an overflow may give NaN in one of the two programs only."""
NEW_SIGNATURES = ("LazyGetInput", "LazySetOutput")
"""Passes that change the parameters of functions; tests/passes/test_lazy_params.py checks them."""
IMPURE = ("LowerRuntimeBuiltin", "VMShapeLower")
"""Passes whose results call functions of the virtual machine, which count as impure: `RemovePurityChecking` comes before."""
STEPS = ("floor", "less", "greater", "equal")
"""Discontinuous operators, whose results may differ much if operands differ little."""


def _is_complete(name: str) -> bool:
    """Return whether a pass can run without options and without others before it, and keeps the signatures of functions."""
    return name not in (*NEW_SIGNATURES, *IMPURE) and all(
        option.default is not option.empty for option in signature(passes()[name]).parameters.values()
    )


def _is_of_lowering(name: str) -> bool:
    """Return whether a pass is registered by the code generator or a program of the user, if these have been imported."""
    return not passes()[name].__module__.startswith(PassContext.__module__.rpartition(".")[0])


VARIANTS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "ConvertLayout to NHWC": ("ConvertLayout", {"desired_layouts": {"relax.nn.conv2d": ("NHWC", "OHWI")}}),
    "ConvertLayout to NCHW4c": ("ConvertLayout", {"desired_layouts": {"relax.nn.conv2d": ("NCHW4c", "OIHW4o")}}),
    "StaticPlanBlockMemory packed": ("StaticPlanBlockMemory", {"pack": True}),
    "TopologicalSort breadth-first": ("TopologicalSort", {"order": "breadth-first"}),
    "TopologicalSort from-outputs": ("TopologicalSort", {"direction": "from-outputs"}),
    "EliminateCommonSubexpr of calls": ("EliminateCommonSubexpr", {"call_only": True}),
}
"""Passes with options, by the names under which runs count them."""
COMPLETE = (*[name for name in passes() if _is_complete(name) and not _is_of_lowering(name)], *VARIANTS)
"""The passes on graphs that are checked: those that run without options, and some with options."""
TOGETHER = (
    *PIPELINES.values(),
    ("LegalizeOps", "RewriteDataflowReshape", "CallTIRRewrite", "StaticPlanBlockMemory", "LowerAllocTensor", "KillAfterLastUse"),
    ("LegalizeOps", "CallTIRRewrite", "StaticPlanBlockMemory packed", "LowerAllocTensor"),
    ("LambdaLift", "InlinePrivateFunctions"),
    ("ToNonDataflow", "RemovePurityChecking", "LegalizeOps", "CallTIRRewrite", "LowerAllocTensor", *IMPURE),
)  # fmt: skip
"""Sequences of passes that have an effect only after one another."""
SUBJECTS: tuple[tuple[Operator, tuple[str, ...]], ...] = (
    (products, (
        "AdjustMatmulOrder", "CombineParallelMatmul", "ExpandMatmulOfSum", "ReorderPermuteDimsAfterConcat",
        "ReorderTakeAfterMatmul",
    )),
    (batch_norm, tuple(TRAINING)),
    (convolution, ("ConvertLayout to NHWC", "ConvertLayout to NCHW4c")),
    (overwriting, ("TopologicalSort", "TopologicalSort breadth-first", "TopologicalSort from-outputs", "EliminateCommonSubexpr")),
)  # fmt: skip
"""Passes that have an effect only on certain operators, with the generator of these operators."""


class _Example(Struct, frozen=True):
    module: IRModule
    names: tuple[str, ...]
    seed: int

    def __str__(self) -> str:
        return f"# passes: {', '.join(self.names)}\n{self.module}"


def made(name: str) -> Pass:
    """Return the pass called `name`, or the one of `VARIANTS` with its options."""
    known, options = VARIANTS.get(name, (name, {}))
    return get_pass(known, **options)


def fitting(names: Iterable[str], training: bool) -> list[str]:
    """Return the passes among `names` that apply in training, or those that do not require training."""
    return [name for name in names if TRAINING.get(name, training) is training]


@st.composite
def _examples(draw: st.DrawFn, file: Source | None) -> _Example:
    choose = Choices(draw)
    training = choose.pick((False, True))

    names = [choose.pick(fitting(COMPLETE, training)) for _ in range(choose.number(0, 2))]
    subject = None
    if choose.rarely(2):
        subject, name = choose.pick(
            [(operator, name) for operator, about in SUBJECTS for name in fitting(about, training)]
        )
        names.append(name)
    else:
        names += choose.pick(TOGETHER) if choose.rarely(4) else [choose.pick(fitting(COMPLETE, training))]
    drawn = network_modules(training, subject and (subject,), overwrites=subject is overwriting or None)
    module = draw(drawn if file is None else programs_in(file))
    return _Example(module, tuple(names), choose.number(0, 99))


def _check(example: _Example, execute: Execute) -> None:
    transform = Sequential([made(name) for name in example.names])
    drawn = profiles_of(example.names, profiles(example.seed))
    check_pass(example.module, transform, example.names, seed=example.seed, profiles=drawn, integers=(-8, 9))


def profiles_of(names: Iterable[str], offered: tuple[str, ...]) -> tuple[str, ...]:
    """Return the `offered` profiles of inputs, or only the finite one if one of the passes `names` is inexact."""
    return ("plain",) if any(name in ROUNDING or name in REASSOCIATING for name in names) else offered


def check_pass(module: IRModule, transform: Pass, names: Iterable[str], **options: Any) -> None:
    """Assert that the result of `transform`, which runs the passes `names`, is valid and satisfies `assert_kept`."""
    with PassContext(opt_level=3, instruments=[VerifyEach()]):
        after = transform(module)
    if after is not module:
        assert_kept(module, after, names, **options)


def assert_kept(before: IRModule, after: IRModule, names: Iterable[str], **options: Any) -> None:
    """Assert that the result of the passes `names` on `before` survives printing and parsing, and computes the same.

    `options` are those of `assert_equivalent`. Results of discontinuous operators are not compared if a pass reduces
    precision.
    """
    assert_printed(after, after.script())
    assert_same(before, after, names, has_steps(before.script()), **options)


def assert_printed(module: IRModule, text: str) -> None:
    """Assert that `text`, which is what a module prints, is parsed as the same module."""
    assert structural_equal(parse_source(Source("after.tvms", text)), module), "what is printed is another module"


def has_steps(text: str) -> bool:
    """Return whether a program uses discontinuous operators."""
    return any(step in text for step in STEPS)


def assert_same(before: IRModule, after: IRModule, names: Iterable[str], steps: bool, **options: Any) -> None:
    """Assert that the result of the passes `names` on `before`, which may have discontinuous operators, computes the same."""
    tolerance = max((ROUNDING.get(name, 0.0) for name in names), default=0.0) or None
    if tolerance is None or not steps:
        assert_equivalent(before, after, tolerance=tolerance, **options)


def _constructs(example: _Example) -> Iterable[str]:
    return (*example.names, *module_constructs(example.module))


def _read(source: Source) -> _Example:
    names = source.text.partition("# passes: ")[2].partition("\n")[0]
    return _Example(parse_source(source), tuple(names.split(", ") if names else ()), 0)


LAW = Law(_examples, _check, read=_read, constructs=_constructs, expected=frozenset(COMPLETE))
