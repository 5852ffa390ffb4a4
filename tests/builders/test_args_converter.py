"""`relax.utils.args_converter`: decorators that convert arguments to graph-level values."""

from __future__ import annotations

from typing import Any, List, Optional  # noqa: UP035

import pytest
from tvms import relax
from tvms.relax import Expr
from tvms.relax.utils import args_converter

CONSTANT = relax.const(0)


def test_auto_converts_the_annotated_parameters() -> None:
    @args_converter.auto
    def f(a: Expr, b: Optional[List[Expr]], c: int, *args: Expr | None, **kw: list[Expr]) -> Any:  # noqa: UP006, UP045
        return a, b, c, args, kw

    a, b, c, args, kw = f((1, 2), [CONSTANT, "s"], 3, None, 4, k=[5])
    assert isinstance(a, relax.Tuple)
    assert b[0] is CONSTANT
    assert isinstance(b[1], relax.StringImm)
    assert c == 3
    assert args[0] is None
    assert isinstance(args[1], relax.PrimValue)
    assert isinstance(kw["k"][0], relax.PrimValue)
    assert f(1, None, 3)[1] is None


def test_named_parameters() -> None:
    @args_converter.to_expr("a")
    @args_converter.to_list_expr("b")
    def f(a: Any, b: Any = None, c: Any = None) -> Any:
        return a, b, c

    a, b, c = f("x", b=(1, CONSTANT), c=1)
    assert isinstance(a, relax.StringImm)
    assert isinstance(b[0], relax.PrimValue)
    assert b[1] is CONSTANT
    assert c == 1
    with pytest.raises(TypeError, match="expected a list of graph-level values, got 1"):
        f("x", 1)
