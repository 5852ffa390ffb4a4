"""Property-based testing of tensor programs: the generators and checks that tvms tests itself with, as a library.

    from hypothesis import given
    from tvms.testing import assert_equivalent, prim_funcs

    @given(prim_funcs())
    def test_my_pass(func):
        assert_equivalent(func, my_pass(func))

Strategies generate valid programs: well typed by construction, accepted by the verifier, free of accesses out of
bounds. They shrink to few loops. There are `expressions`, `prim_funcs`, `graph_functions`, `modules` and texts;
`st.from_type(tvms.PrimFunc)` uses them. `assert_equivalent` runs two programs on random inputs. The laws that `tvms
fuzz` checks are in `laws`.

The strategies and checks of programs need Hypothesis, which the extra `fuzz` installs. Without it, their import fails with
E0812. The helpers under the names of `tvm.testing` do not need it.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from ...ir.diagnostics import error
from . import env
from .comparisons import assert_prim_expr_equal, check_numerical_grads, get_dtype_range
from .helpers import CompareBeforeAfter, assert_allclose, main
from .parametrization import (
    enabled_targets,
    exclude_targets,
    fixture,
    known_failing_targets,
    parameter,
    parameters,
    parametrize_targets,
    skip_parameterizations,
    xfail_parameterizations,
)
from .requirements import (
    Feature,
    device_enabled,
    is_ampere_or_newer,
    requires_aarch64_sme,
    requires_aarch64_sve,
    requires_arm_dot,
    requires_cublas,
    requires_cuda,
    requires_cuda_compute_version,
    requires_cudagraph,
    requires_cudnn,
    requires_cutlass,
    requires_gpu,
    requires_hexagon,
    requires_hipblas,
    requires_llvm,
    requires_llvm_minimum_version,
    requires_matrixcore,
    requires_metal,
    requires_micro,
    requires_multi_gpu,
    requires_nccl,
    requires_nnapi,
    requires_nvcc_version,
    requires_nvptx,
    requires_opencl,
    requires_openclml,
    requires_package,
    requires_rocm,
    requires_rpc,
    requires_tensorrt,
    requires_vulkan,
    requires_x86,
    run_with_gpu_lock,
    skip_if_32bit,
    skip_if_wheel_test,
    strtobool,
    uses_gpu,
)

if TYPE_CHECKING or find_spec("hypothesis") is not None:
    from .data import inputs
    from .expressions import OPERATORS, expressions
    from .features import FEATURES, features_of
    from .graphs import graph_functions
    from .modules import modules
    from .networks import network_functions
    from .oracle import assert_equivalent, random_inputs
    from .prim_funcs import prim_funcs
    from .scheduling import schedules
    from .texts import commented_texts, damaged_texts, loose_texts, texts
    from .vacuity import vacuity

__all__ = [
    "FEATURES",
    "OPERATORS",
    "CompareBeforeAfter",
    "Feature",
    "assert_allclose",
    "assert_equivalent",
    "assert_prim_expr_equal",
    "check_numerical_grads",
    "commented_texts",
    "damaged_texts",
    "device_enabled",
    "enabled_targets",
    "env",
    "exclude_targets",
    "expressions",
    "features_of",
    "fixture",
    "get_dtype_range",
    "graph_functions",
    "inputs",
    "is_ampere_or_newer",
    "known_failing_targets",
    "loose_texts",
    "main",
    "modules",
    "network_functions",
    "parameter",
    "parameters",
    "parametrize_targets",
    "prim_funcs",
    "random_inputs",
    "requires_aarch64_sme",
    "requires_aarch64_sve",
    "requires_arm_dot",
    "requires_cublas",
    "requires_cuda",
    "requires_cuda_compute_version",
    "requires_cudagraph",
    "requires_cudnn",
    "requires_cutlass",
    "requires_gpu",
    "requires_hexagon",
    "requires_hipblas",
    "requires_llvm",
    "requires_llvm_minimum_version",
    "requires_matrixcore",
    "requires_metal",
    "requires_micro",
    "requires_multi_gpu",
    "requires_nccl",
    "requires_nnapi",
    "requires_nvcc_version",
    "requires_nvptx",
    "requires_opencl",
    "requires_openclml",
    "requires_package",
    "requires_rocm",
    "requires_rpc",
    "requires_tensorrt",
    "requires_vulkan",
    "requires_x86",
    "run_with_gpu_lock",
    "schedules",
    "skip_if_32bit",
    "skip_if_wheel_test",
    "skip_parameterizations",
    "strtobool",
    "texts",
    "uses_gpu",
    "vacuity",
    "xfail_parameterizations",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Raise E0812 for a name that needs Hypothesis, which is not installed if this is called for one."""
    if name in __all__:
        reason = f"tvms.testing.{name} needs Hypothesis, which is not installed"
        raise error("E0812", reason, None, "pip install 'tvms-lang[fuzz]'")
    raise AttributeError(f"module 'tvms.testing' has no attribute '{name}'")
