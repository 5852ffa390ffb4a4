"""In Python programs, notebooks and pages, `fmt`, `convert` and `migrate` change definitions only; converted there and back, a file
is the same byte for byte.

The imports of the loop level are the exception: they follow its name in the dialect.
"""

from __future__ import annotations

from collections.abc import Iterable

from hypothesis import strategies as st

from ....ir.base import Source
from ....ir.diagnostics import TvmsError
from ....ir.equal import structural_equal
from ...embedded import Host
from ...embedded.convert import converted
from ...formatter import format_host
from ...load import parse_source, read_definition
from ...migration import migrate
from ...newest import widened
from ...views_of_memory import undeclared
from ..choices import Choices, drawn
from ..details import detailed
from ..hosts import TVM_DIALECTS, HostText, hosted, module_of, outside
from ..modules import all_modules
from ..oracle import Execute
from .law import Law


def _example(choose: Choices, file: Source | None) -> HostText:
    program = choose.draw(all_modules()) if file is None else parse_source(file)
    return hosted(choose, detailed(choose, program).script(choose.pick(TVM_DIALECTS)), is_python=True)


def _examples(file: Source | None) -> st.SearchStrategy[HostText]:
    return drawn(lambda choose: _example(choose, file))


def _check(example: HostText, execute: Execute) -> None:
    host = example.host()
    assert host.definitions, "the definitions are not found"
    _same_around(host, HostText(format_host(host), example.suffix).host(), "formatting")
    texts: dict[str, str] = {}
    for step, dialect in enumerate((*TVM_DIALECTS, TVM_DIALECTS[0])):
        text, _ = converted(HostText(texts[TVM_DIALECTS[step - 1]], example.suffix).host() if step else host, dialect, read_definition)  # fmt: skip
        assert texts.setdefault(dialect, text) == text, f"there and back again, it is another text in {dialect}"
        _same_around(host, HostText(text, example.suffix).host(), f"conversion to {dialect}")
    _check_migration(host, example.suffix)


def _check_migration(host: Host, suffix: str) -> None:
    migration = migrate(host.source)
    again = HostText(migration.text, suffix)
    _same_around(host, again.host(), "migration")
    assert migrate(again.source).text == migration.text, "migrating it again changes it"
    assert migration.found or " T.block(" not in migration.text.replace("# with T.block(", ""), (
        "a block has its older name"
    )
    if not any(diagnostic.severity == "error" for diagnostic in migration.found):
        before, after = (undeclared(widened(module_of(one))) for one in (host, again.host()))
        assert structural_equal(before, after, map_free_vars=True), "migration changes the program"


def _same_around(before: Host, after: Host, what: str) -> None:
    """Check that nothing but definitions has changed, and names in imports."""
    old, new = ([text.replace(" tirx ", " tir ") for text in outside(host)] for host in (before, after))
    assert old == new, f"{what} changes what is not a definition:\n{''.join(new)}"
    assert [definition.name for definition in before.definitions] == [
        definition.name for definition in after.definitions
    ]


def _constructs(example: HostText) -> Iterable[str]:
    try:
        names = {definition.name for definition in example.host().definitions}
    except TvmsError:
        names = set[str]()
    return {f"host {example.suffix}", *(["several definitions"] if len(names) > 1 else [])}


LAW = Law(
    _examples, _check, read=lambda source: HostText.read(source.text), constructs=_constructs,
    expected=frozenset({"host .py", "host .md", "host .ipynb"}),
)  # fmt: skip
