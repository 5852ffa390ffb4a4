"""Law `bounds` also reads texts without the regions of blocks, which the parser derives."""

from __future__ import annotations

from tvms.ir.base import IRModule
from tvms.testing.campaign import drawn_batch
from tvms.testing.laws.bounds import Example


def test_some_examples_leave_out_regions() -> None:
    texts = list[tuple[bool, str]]()

    def keep(example: Example) -> None:
        assert isinstance(example.module, IRModule)
        texts.append((example.derives, example.text))

    drawn_batch("bounds", 1, 0, 60, keep)
    assert any("T.writes(" in text for derives, text in texts if not derives)
    assert any(derives and "T.block(" in text for derives, text in texts)
    assert not any(f"T.{part}(" in text for derives, text in texts if derives for part in ("reads", "writes"))
