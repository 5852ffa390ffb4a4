"""What `R.print` and `R.assert_op` show, interpreted and compiled."""

from __future__ import annotations

import numpy as np
import pytest
import tvms

PRINTS = {
    "values": ("R.print(x, (x, (x,)))", "1 (1, (1,))\n"),
    "format": ('R.print(x, (x, x), format="{}, pair {}.")', "1, pair (1, 1).\n"),
    "too few values": ('R.print(x, format="{} and {}")', "{} and {} 1\n"),
    "too many values": ('R.print(x, x, format="x")', "x 1 1\n"),
}


@pytest.mark.parametrize("case", PRINTS)
def test_printed_values(case: str, capsys: pytest.CaptureFixture[str]) -> None:
    call, expected = PRINTS[case]
    module = tvms.parse(f'R.function(pure=False) main(x: R.Tensor((), "int32")):\n    _ = {call}\n    return x\n')
    for run in (tvms.compile(module)["main"], lambda x: tvms.interpret(module, "main", [x])):
        run(np.array(1, "int32"))
        assert capsys.readouterr().out == expected


def test_values_of_assertions_without_format() -> None:
    text = 'R.function(pure=False) main(x: R.Tensor((), "int32")):\n    _ = R.assert_op(R.const(False), [x, x])\n    return x\n'
    module = tvms.parse(text)
    for run in (tvms.compile(module)["main"], lambda x: tvms.interpret(module, "main", [x])):
        with pytest.raises(AssertionError, match="assertion failed: 5, 5"):
            run(np.array(5, "int32"))
