"""Parameters of tests under the names of `tvm.testing`: fixtures with several values."""

from __future__ import annotations

import copy
import functools
import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

from .requirements import device_for

_GROUP = "_tvms_group"
"""Attribute of the functions of fixtures that `parameters` made together: their identity, their place, the sets of values."""


def parameter(*values: Any, ids: Sequence[str] | None = None, by_dict: Mapping[str, Any] | None = None) -> Any:
    """Return a fixture that takes each of the values; `by_dict` names them (TVM: `tvm.testing.parameter`).

    Raise ValueError if there are both `values` or `ids` and `by_dict`.
    """
    if by_dict is not None:
        if values or ids:
            raise ValueError("tvms.testing.parameter takes values and ids, or by_dict, but not both")
        ids, values = tuple(by_dict), tuple(by_dict.values())

    def value(*instance: Any, request: Any) -> Any:  # a fixture of a class gets its instance
        return request.param

    return import_module("pytest").fixture(value, params=values, ids=ids)


def parameters(*value_sets: Sequence[Any], ids: Sequence[str] | None = None) -> list[Any]:
    """Return one fixture for each element of the sets; a test that uses several of them gets the elements of one set.

    The calling module gets a hook `pytest_generate_tests`, unless it has one. Source: tvm.testing.parameters.
    """
    sys._getframe(1).f_globals.setdefault("pytest_generate_tests", generate_tests)  # type: ignore[reportPrivateUsage]
    identity = object()
    return [_member(identity, place, value_sets, ids) for place in range(len(value_sets[0]) if value_sets else 0)]


def _member(identity: object, place: int, value_sets: Sequence[Sequence[Any]], ids: Sequence[str] | None) -> Any:
    def value(*instance: Any, request: Any) -> Any:  # a fixture of a class gets its instance
        return request.param

    setattr(value, _GROUP, (identity, place, value_sets, ids))
    return import_module("pytest").fixture(value)


def generate_tests(metafunc: Any) -> None:
    """Give the fixtures of each group that a test uses the values of one set at a time (pytest: `pytest_generate_tests`)."""
    groups: dict[object, list[tuple[str, Any]]] = {}
    for name in metafunc.fixturenames:
        definitions = metafunc._arg2fixturedefs.get(name) or ()
        group = getattr(definitions[-1].func, _GROUP, None) if definitions else None
        if group is not None:
            groups.setdefault(group[0], []).append((name, group))
    for members in groups.values():
        _, _, value_sets, ids = members[0][1]
        values = [tuple(values[group[1]] for _, group in members) for values in value_sets]
        names = [name for name, _ in members]
        metafunc.parametrize(
            ",".join(names), values if len(names) > 1 else [value for (value,) in values], indirect=True, ids=ids
        )


def parametrize_targets(*targets: Any) -> Any:
    """Run a test once for each target that this machine has, as `target` and `dev` (TVM: `parametrize_targets`).

    The result is a mark of pytest, which can also be the `pytestmark` of a module. Without targets, or as a decorator without arguments, a test runs for "llvm" and "cuda".
    """
    if len(targets) == 1 and callable(targets[0]):
        return parametrize_targets()(targets[0])
    return _run_for(targets or _TARGETS)


_TARGETS = ("llvm", "cuda")
"""The targets that machines may have devices for."""


def _run_for(targets: Sequence[Any], failing: Sequence[Any] = ()) -> Any:
    pytest: Any = import_module("pytest")
    cases: list[Any] = []
    for target in targets:
        dev = device_for(target)
        marks = [] if dev is not None else [pytest.mark.skip(reason=f"needs a device for {target}")]
        marks += [pytest.mark.xfail(reason="known failing target")] if target in failing else []
        cases.append(pytest.param(target, dev, marks=marks, id=str(target)))
    return pytest.mark.parametrize("target,dev", cases)


def enabled_targets() -> list[tuple[str, Any]]:
    """Return the names of the targets that this machine has, with their devices (TVM: `tvm.testing.enabled_targets`)."""
    return [(target, dev) for target in _TARGETS if (dev := device_for(target)) is not None]


def exclude_targets(*targets: Any) -> Any:
    """Run a test for the targets that this machine has, except for some (TVM: `tvm.testing.exclude_targets`)."""
    return _run_for([target for target in _TARGETS if target not in targets])


def known_failing_targets(*targets: Any) -> Any:
    """Run a test for the targets that this machine has; it fails for some (TVM: `tvm.testing.known_failing_targets`)."""
    return _run_for(_TARGETS, targets)


def fixture(func: Any = None, *, cache_return_value: bool = False) -> Any:
    """Return a fixture (TVM: `tvm.testing.fixture`). With `cache_return_value`, tests get copies of one value for each set of
    arguments; a value that cannot be copied is made anew.
    """
    if func is None:
        return lambda func: fixture(func, cache_return_value=cache_return_value)  # type: ignore[reportUnknownLambdaType]
    return import_module("pytest").fixture(_cached(func) if cache_return_value else func)


def _cached(func: Callable[..., Any]) -> Callable[..., Any]:
    values: dict[str, Any] = {}

    @functools.wraps(func)
    def value(*args: Any, **named: Any) -> Any:
        key = repr((args, sorted(named.items())))
        if key not in values:
            values[key] = func(*args, **named)
        try:
            return copy.deepcopy(values[key])
        except TypeError:
            return func(*args, **named)

    return value


def xfail_parameterizations(*params: str, reason: str) -> Any:
    """Mark cases of a test, by their names in brackets, as failing (TVM: `tvm.testing.xfail_parameterizations`)."""
    return _marked(params, "xfail", reason)


def skip_parameterizations(*params: str, reason: str) -> Any:
    """Skip cases of a test, by their names in brackets (TVM: `tvm.testing.skip_parameterizations`)."""
    return _marked(params, "skip", reason)


def _marked(params: Sequence[str], mark: str, reason: str) -> Any:
    def decorate(function: Callable[..., Any]) -> Any:
        pytest: Any = import_module("pytest")
        given = inspect.signature(function).parameters

        @functools.wraps(function)
        def run(*args: Any, **named: Any) -> Any:
            request = named["request"] if "request" in given else named.pop("request")
            if any(request.node.name.endswith(f"[{case.strip('[]')}]") for case in params):
                {"xfail": pytest.xfail, "skip": pytest.skip}[mark](reason)
            return function(*args, **named)

        extra = [] if "request" in given else [inspect.Parameter("request", inspect.Parameter.KEYWORD_ONLY)]
        signature = inspect.Signature([*given.values(), *extra])
        setattr(run, "__signature__", signature)  # noqa: B010
        return run

    return decorate
