"""`set_axis_separator`: choose the dimensions of a buffer that are flattened together."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from ... import tir
from ...visit import walk
from ..analysis.caching import ACCESSED
from ..analysis.relayout import NOT_CALLED, check_not_called, is_parameter
from ..analysis.removal import OPAQUE
from ..arguments import Block, Integers
from ..conditions import ARGUMENT
from ..declaration import primitive
from ..layout_arguments import AccessedBuffer, buffer_accessed
from ..program import Program


@primitive(requires=(ACCESSED, OPAQUE, NOT_CALLED))
def set_axis_separator(program: Program, block: Block, buffer: AccessedBuffer, axis_separators: Integers) -> None:
    """Flatten the dimensions of a buffer in groups, in the whole function; a new group begins at each of
    `axis_separators`. `buffer` is one that the block reads or writes. Its views get the same separators, or equally
    many zeros if they have another number of dimensions.

    Preserves: what every block computes; callers must pass a parameter in this layout. Comments stay.
    """
    _, old = buffer_accessed(program, block, buffer)
    name = program.function_of(block)
    assert name is not None
    function = program.prim_func_of(block)
    count = len(old.shape)
    if list(axis_separators) != sorted(axis_separators) or any(
        not 0 <= axis_separator <= count for axis_separator in axis_separators
    ):
        shown = list(axis_separators)
        help = f"give numbers from 0 to {count}, in order"
        raise ARGUMENT.refuse(
            f"{shown} are not valid separators of {count} dimensions", argument="axis_separators", help=help
        )
    if is_parameter(function, old):
        check_not_called(program, name)
    separate(program, name, old, axis_separators)


def separate(program: Program, name: str, buffer: tir.Buffer, axis_separators: tuple[int, ...]) -> None:
    """Set the axis separators of a buffer of function `name` and of its views."""
    function = program.tree(name).function
    renamed = {buffer: replace(buffer, axis_separators=axis_separators)}
    for view, source in _views(function.body):
        if source in renamed:
            fits = len(view.shape) == len(buffer.shape)
            separators = axis_separators if fits else (0,) * len(axis_separators)
            renamed[view] = replace(view, axis_separators=separators)
    body = program.substitute(function.body, renamed)
    parameters = {param: renamed.get(array, array) for param, array in function.buffer_map.items()}
    program.replace_function(name, replace(function, body=body, buffer_map=parameters))


def _views(body: tir.Stmt) -> Iterator[tuple[tir.Buffer, tir.Buffer]]:
    """Yield the views of buffers, each with its buffer, outermost first."""
    for node in walk(body):
        if isinstance(node, tir.MatchBufferRegion):
            yield node.buffer, node.source.buffer
