"""Debug locations: the line of the source text of each instruction, for `tvms compile --lines`.

LLVM keeps them through its passes, and writes them as directives (`.loc`) into assembly and PTX. Code is the same with and
without them: the unit asks for directives only, not for sections with debug information.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from ...ir.base import Node, Source, Span
from ...ir.source_lines import SourceLines
from .api import Builder, Value, ir

_VERSION = 3
"""The version of LLVM's debug metadata; LLVM drops that of others."""


class DebugLines:
    """Writes the locations of one LLVM module, in lines of `source`."""

    def __init__(self, module: Value, source: Source) -> None:
        self._module, self._source, self._lines = module, source, SourceLines()
        file = module.add_debug_info("DIFile", {"filename": source.name, "directory": ""})
        unit = {
            "language": ir.DIToken("DW_LANG_C99"), "file": file, "producer": "tvms", "isOptimized": True,
            "emissionKind": ir.DIToken("DebugDirectivesOnly"),
        }  # fmt: skip
        self._unit = module.add_debug_info("DICompileUnit", unit, is_distinct=True)
        self._file, number = file, ir.IntType(32)
        self._type = module.add_debug_info("DISubroutineType", {"types": module.add_metadata([None])})
        module.add_named_metadata("llvm.dbg.cu", self._unit)
        module.add_named_metadata("llvm.module.flags", [number(2), "Debug Info Version", number(_VERSION)])

    def of_function(self, function: Value, span: Span | None, around: FunctionLines | None = None) -> FunctionLines:
        """Return the locations in a new function of the module. Instructions of no statement are in the line of `span`, or
        else in the current line of `around`.
        """
        line = self.line_of(span) or (around.line if around is not None else 0)
        fields = {
            "name": function.name, "scope": self._file, "file": self._file, "line": line, "type": self._type,
            "scopeLine": line, "unit": self._unit, "spFlags": ir.DIToken("DISPFlagDefinition | DISPFlagOptimized"),
        }  # fmt: skip
        scope = self._module.add_debug_info("DISubprogram", fields, is_distinct=True)
        function.set_metadata("dbg", scope)
        return FunctionLines(self, scope, line)

    def line_of(self, span: Span | None) -> int | None:
        """Return the line of a span; None if the span is in another text, such as that of a tensor intrinsic."""
        return self._lines.line_of(span, self._source)

    def location(self, scope: Value, line: int) -> Value:
        """Return the location of a line in a function."""
        return self._module.add_debug_info("DILocation", {"line": line, "column": 0, "scope": scope})


class FunctionLines:
    """The locations of the instructions of one LLVM function."""

    def __init__(self, module: DebugLines, scope: Value, line: int) -> None:
        self._module, self._scope, self.line = module, scope, line

    @property
    def location(self) -> Value:
        """The location of the current line."""
        return self._module.location(self._scope, self.line)

    @contextmanager
    def at(self, builder: Builder, node: Node) -> Generator[None]:
        """Give the line of a statement to the instructions emitted in the context; statements inside of it have their own."""
        around = self.line
        self.line = self._module.line_of(node.span) or around
        builder.debug_metadata = self.location
        try:
            yield
        finally:
            self.line = around
            builder.debug_metadata = self.location
