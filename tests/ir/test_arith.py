"""`tvms.arith`, as people who know `tvm.arith` use it."""

from __future__ import annotations

import tvms
from tvms import arith, te
from tvms.ir.analysis.modular_set import ModularSet


def test_an_analyzer_knows_ranges_values_and_conditions() -> None:
    assert tvms.arith is arith
    i, j, n = te.var("i"), te.var("j"), te.size_var("n")
    analyzer = arith.Analyzer()
    analyzer.bind(j, (0, 32))
    assert str(analyzer.simplify((i * 32 + j) // 32)) == "i"
    assert analyzer.const_int_bound(j * 2 + 1) == arith.ConstIntBound(1, 63)
    assert analyzer.modular_set(i * 8 + 3) == ModularSet(8, 3)
    assert not analyzer.can_prove(i < n)
    with analyzer.constraint_scope(i < n):
        assert analyzer.can_prove(i + 1 <= n)
        assert str(analyzer.simplify(te.minimum(i, n))) == "i"
    assert str(analyzer.simplify(te.minimum(i, n))) == "T.min(i, n)"
    analyzer.bind(i, 3)
    assert analyzer.can_prove_equal(i * 2, 6)
    proof = analyzer.prove(j < n)
    assert proof.counterexample == {j: 0, n: 0}


def test_iterator_maps_of_expressions() -> None:
    i, j = te.var("i"), te.var("j")
    domains: dict[te.Value, arith.Domain] = {i: (0, 4), j: (0, 8)}
    assert arith.detect_iter_map([i * 8 + j], domains, check_level="bijective").is_detected
    assert [str(index) for index in arith.iter_map_simplify([(i * 8 + j) // 8, (i * 8 + j) % 4], domains)] == [
        "i",
        "j % 4",
    ]
    assert [str(index) for index in arith.iter_map_simplify([i * i + 0], domains)] == ["i * i"]
