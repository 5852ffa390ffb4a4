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

All of this needs Hypothesis, which the extra `fuzz` installs. Without it, the import fails with E0812.
"""

from __future__ import annotations

from importlib.util import find_spec

from ...ir.diagnostics import error

if find_spec("hypothesis") is None:
    raise error("E0812", "tvms.testing needs Hypothesis, which is not installed", None, "pip install 'tvms-lang[fuzz]'")

from .data import inputs
from .expressions import OPERATORS, expressions
from .features import FEATURES, features_of
from .graphs import graph_functions
from .helpers import assert_allclose, main, requires_gpu
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
    "assert_allclose",
    "assert_equivalent",
    "commented_texts",
    "damaged_texts",
    "expressions",
    "features_of",
    "graph_functions",
    "inputs",
    "loose_texts",
    "main",
    "modules",
    "network_functions",
    "prim_funcs",
    "random_inputs",
    "requires_gpu",
    "schedules",
    "texts",
    "vacuity",
]
