"""Helpers of tests under the names of `tvm.testing`."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

from ...ir.base import BaseFunc, IRModule, assert_structural_equal
from ...ir.programs import as_module
from ..script import undecorated_prim_func


def assert_allclose(actual: Any, desired: Any, rtol: float = 1e-7, atol: float = 1e-7, verbose: bool = True) -> None:
    """Raise AssertionError if two arrays differ by more than the tolerances, or in shape
    (TVM: `tvm.testing.assert_allclose`).
    """
    import numpy as np

    actual, desired = np.asanyarray(actual), np.asanyarray(desired)
    np.testing.assert_allclose(actual.shape, desired.shape)
    np.testing.assert_allclose(actual, desired, rtol=rtol, atol=atol, verbose=verbose)


def main() -> None:
    """Run the tests of the calling file with pytest, and exit (TVM: `tvm.testing.main`)."""
    caller = inspect.stack()[1].filename
    sys.exit(import_module("pytest").main([caller, *sys.argv[1:]]))


class CompareBeforeAfter:
    """Base class of tests of a pass (TVM: `tvm.testing.CompareBeforeAfter`).

    A subclass has `transform`, a pass or a method that returns one, and the programs `before` and `expected`, or `Before` and
    `Expected`: modules, functions, classes of functions, or methods that return them. A function without the parameter `self`
    defines a loop function, as with `@T.prim_func`; it is read when the test runs. `expected` may be a type of exception. The test
    `test_compare` transforms `before` and compares the result with `expected`.
    """

    check_well_formed = True

    def __init_subclass__(cls) -> None:
        for name in ("before", "expected", "transform"):
            found = [key for key in (name, name.capitalize()) if key in vars(cls)]
            if found:
                setattr(cls, name, _fixture_of(inspect.getattr_static(cls, found[0]), cls))
        if any(name in vars(cls) for name in ("before", "expected", "transform")):
            cls.test_compare = _compare  # type: ignore[attr-defined]


def _compare(self: CompareBeforeAfter, before: Any, expected: Any, transform: Callable[..., Any]) -> None:
    """Check that the pass turns `before` into `expected`, or raises it."""
    if inspect.isclass(expected) and issubclass(expected, Exception):
        with import_module("pytest").raises(expected):
            transform(_named_main(before))
        return
    after, wanted = transform(_named_main(before)), _named_main(expected)
    if isinstance(before, BaseFunc) and list(after.functions) == ["main"]:
        after = _named_main(after["main"].with_attr("global_symbol", "main"))
        wanted = _named_main(wanted["main"].with_attr("global_symbol", "main")) if "main" in wanted else wanted
    assert_structural_equal(after, wanted)


def _named_main(program: Any) -> IRModule:
    """Return a program as a module, with the name `main` for a function, whose own name is not compared."""
    is_public = isinstance(program, BaseFunc) and "global_symbol" in program.attrs
    return as_module(program.with_attr("global_symbol", "main") if is_public else program, "main")


def _fixture_of(member: Any, owner: type) -> Any:
    """Return the fixture of a member of a test class: a method with its own fixtures as parameters, a definition, or a
    constant value.
    """
    fixture: Any = import_module("pytest").fixture
    if hasattr(member, "_fixture_function"):  # it is a fixture
        return member
    if inspect.isfunction(member):
        return fixture(member if "self" in inspect.signature(member).parameters else _read_later(member))
    if inspect.isclass(member) and not issubclass(member, Exception):
        return fixture(_read_all_later(member))
    get: Any = getattr(member, "__get__", None)  # of a decorated function
    value = get(None, owner) if get is not None else member
    return fixture(lambda self: value)  # type: ignore[reportUnknownLambdaType]


def _read_later(definition: Callable[..., Any]) -> Callable[[CompareBeforeAfter], Any]:
    def program(self: CompareBeforeAfter) -> Any:
        return undecorated_prim_func(definition, self.check_well_formed)

    return program


def _read_all_later(members: type) -> Callable[[CompareBeforeAfter], IRModule]:
    def program(self: CompareBeforeAfter) -> IRModule:
        found: dict[str, Any] = {}
        for name in vars(members):
            if not name.startswith("_"):
                member = getattr(members, name)
                found[name] = (
                    undecorated_prim_func(member, self.check_well_formed) if inspect.isfunction(member) else member
                )
        return IRModule({name: function.with_attr("global_symbol", name) for name, function in found.items()})

    return program
