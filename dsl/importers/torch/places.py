"""The origin of a node of a torch graph: its line in the model, and its module."""

from __future__ import annotations

import linecache
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ....ir.base import Source, Span
from ..bindings import identifier
from .library import library

_FRAME = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+)')


class Places:
    """The origins of the nodes of one graph, and the names of their values."""

    def __init__(self, nodes: Iterable[Any]) -> None:
        self._sources: dict[str, Source | None] = {}
        self._library = str(Path(library().__file__).parent)
        self._per_module = Counter(module_of(node) for node in nodes if _is_operator(node))

    def span(self, node: Any) -> Span | None:
        """Return the line of the model that `node` was traced from: the innermost one outside of torch."""
        frames = [(found["file"], int(found["line"])) for found in _FRAME.finditer(node.meta.get("stack_trace") or "")]
        own = [frame for frame in frames if not frame[0].startswith((self._library, "torch/"))]
        for file, line in reversed(own):
            if (source := self._source(file)) is not None:
                return _line_of(source, line)
        return None

    def _source(self, file: str) -> Source | None:
        if file not in self._sources:
            lines = linecache.getlines(file)
            self._sources[file] = Source(file, "".join(lines)) if lines else None
        return self._sources[file]

    def name(self, node: Any) -> str:
        """Return the name of the value of `node`: its module, followed by the operator if the module has several and is not
        itself named after the operator.
        """
        module, operator = module_of(node), operator_of(node)
        if not module:
            return operator
        is_named_after_it = module == operator or module.endswith(f"_{operator}")
        return module if self._per_module[module] == 1 or is_named_after_it else f"{module}_{operator}"


def _is_operator(node: Any) -> bool:
    """Return whether a node computes a tensor."""
    return node.op == "call_function" and hasattr(node.target, "_schema") and "sym_" not in str(node.target)


def module_of(node: Any) -> str:
    """Return the path of a node's module as an identifier such as `layer1_0_conv1`; "" for the model itself."""
    stack: dict[str, Any] = node.meta.get("nn_module_stack") or {}
    path: str = next(reversed(stack.values()))[0] if stack else ""
    return identifier(path.removeprefix("L['self']").removeprefix("L__self__"))


def operator_of(node: Any) -> str:
    """Return the name of the operator of a node without its overload: `conv2d`."""
    name = getattr(node.target, "__name__", None) or str(node.target)
    return identifier(name.partition(".")[0]).strip("_") or "value"


def _line_of(source: Source, line: int) -> Span | None:
    lines = source.text.splitlines(keepends=True)
    if not 1 <= line <= len(lines):
        return None
    text = lines[line - 1]
    start = sum(map(len, lines[: line - 1])) + len(text) - len(text.lstrip())
    return Span(source, start, start + len(text.strip()))
