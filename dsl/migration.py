"""Rewrites TVMScript for TVM 0.13 to 0.25 as the newest TVM writes it, on the concrete text: layout and comments stay.

A definition whose forms have only been renamed keeps every other character. One with forms that have no counterpart of the same
shape, such as `T.allocate`, is printed anew. Either way the new text is read again, and must be the same program.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ..ir.base import IRModule, Source, Span
from ..ir.diagnostics import Diagnostic, TvmsError
from ..ir.dtype import OLDER_DTYPES, is_dtype
from ..ir.equal import structural_equal
from . import syntax
from .builder.forms import Namespace
from .compatibility import dialect_of
from .edits import Edit, applied
from .embedded import Definition, Host, edited, read_host, sources_of
from .embedded.convert import with_imports, without_header
from .load import parse_source
from .newest import widened, without_sizes
from .parser import parse_syntax
from .printer import script_with_constants
from .renames import (
    HAS_LATE,
    KEYED,
    KEYWORDS_WITHOUT_SUCCESSOR,
    LATE,
    LATE_REMOVED,
    MASKED,
    NEWEST,
    REGIONS,
    REMOVED,
    RENAMED,
    RENAMED_KEYWORDS,
    TYPED_FIRST,
    UNTYPED,
    UNTYPED_KEYWORDS,
    WITHOUT_SUCCESSOR,
)
from .views_of_memory import LETTERS, after_root, declarations, form_name, undeclared

_TARGETS = frozenset(("T.target", "I.target", "I.vdevice", "tvm.target.Target"))
_META = "__tvm_meta__"
"""A name that modules of TVM 0.13 bind to None."""
_DECORATOR = re.compile(r"^@", re.MULTILINE)
_F_STRING = re.compile(r"(?<![\w\"'])[fF](?=[\"'])")


class Migration(Struct, frozen=True):
    """The new text of a file, and how its definitions came about."""

    text: str
    renamed: int = 0
    """Number of definitions in which only names changed."""
    printed: int = 0
    """Number of definitions that are printed anew."""
    found: tuple[Diagnostic, ...] = ()


def migrate(source: Source, values: Mapping[str, Any] | None = None) -> Migration:
    """Return a file for the newest TVM; `values` are those of names that definitions capture (`load.load_module`).

    A text in our own dialect stays as it is, and so does a definition that is written for the newest TVM, but for late renames. So does a definition
    with errors, which are among the findings, or one that must be printed anew but captures unknown values (E0822). The imports
    follow the new names as soon as one definition does, or all of them may: the text is then one for the newest TVM.
    """
    if all(dialect_of(part) == "tvms" for part in sources_of(source)):
        return Migration(source.text)
    host = read_host(source)
    if host is None:
        host = Host(source, (_script(source),))
    changes: list[tuple[Source, Edit]] = []
    found: list[Diagnostic] = []
    renamed = printed = 0
    for definition in host.given(values or {}).definitions:
        is_newest = _is_newest(definition)
        if is_newest and not HAS_LATE.search(definition.source.text, definition.start, definition.end):
            continue
        try:
            edits, is_printed = _edits(definition, found, is_newest)
        except TvmsError as problem:
            found += problem.diagnostics
            continue
        changes += [(definition.source, edit) for edit in edits]
        printed += is_printed
        renamed += not is_printed and bool(edits)
    unique = {(id(origin), edit): (origin, edit) for origin, edit in changes}  # macros that several definitions use
    text = edited(host, unique.values())
    is_new = bool(changes) or not any(diagnostic.severity == "error" for diagnostic in found)
    return Migration(
        with_imports(Source(source.name, text), NEWEST) if is_new else text, renamed, printed, tuple(found)
    )


def _is_newest(definition: Definition) -> bool:
    """Return whether a definition is written for the newest TVM: its own forms decide, then those of the text around it."""
    own = dialect_of(Source(definition.name, definition.source.text[definition.start : definition.end]))
    return (dialect_of(definition.source) if own == "decorated" else own) == NEWEST


def _script(source: Source) -> Definition:
    """Return all definitions of a script as one, which what precedes them belongs to but need not be printed."""
    first = _DECORATOR.search(source.text)
    start, end = first.start() if first else 0, len(source.text)
    return Definition("script", source, start, end, ((0, start),) if start else (), is_python=False)


def _edits(definition: Definition, found: list[Diagnostic], is_newest: bool = False) -> tuple[list[Edit], bool]:
    """Return the edits that migrate a definition, and whether it is printed anew; raise TvmsError if it has errors.

    Warnings are added to `found`.
    """
    source, parts = definition.source, definition.parts
    plain = Source(source.name, _F_STRING.sub(" ", source.text))  # an f-string may take part, if the text stays
    file, mistakes = parse_syntax(plain, parts)
    has_f_strings = any(plain.text[start:end] != source.text[start:end] for start, end in parts)
    if mistakes:
        raise TvmsError(parse_syntax(source, parts)[1] or mistakes)
    finder = _Finder(definition, is_newest)
    for statement in file.body:
        finder.statement(statement, False)
    found += finder.refusals(source)
    edits = _with_declarations(finder.edits, file, finder.letters)
    if definition.captured or has_f_strings:
        if finder.needs_printing:
            raise TvmsError(definition.missing() or parse_syntax(source, parts)[1])
        return edits, False
    module = without_sizes(_read(definition, source, parts))
    if not finder.needs_printing:
        changed = Source(source.name, applied(source.text, edits))
        moved = [(_moved(start, edits), _moved(end, edits)) for start, end in parts]
        again = _read(definition, changed, moved)
        if structural_equal(undeclared(module), undeclared(again), map_free_vars=True):
            return edits, False
    return _printed(definition, module), True


def _with_declarations(edits: Sequence[Edit], file: syntax.File, letters: Mapping[str, str]) -> list[Edit]:
    """Return edits of a file in order, with those that declare its buffers instead of others of the same names."""
    declared = list(declarations(file.body, letters))
    places = {(edit.start, edit.end) for edit in declared}
    return sorted([*declared, *(edit for edit in edits if (edit.start, edit.end) not in places)])


def _read(definition: Definition, source: Source, parts: Sequence[tuple[int, int]]) -> IRModule:
    return parse_source(source, definition.names, None, definition.is_python, parts)


def _moved(offset: int, edits: list[Edit]) -> int:
    """Return an offset between edits after they are applied."""
    return offset + sum(len(edit.text) - (edit.end - edit.start) for edit in edits if edit.end <= offset)


def _printed(definition: Definition, module: IRModule) -> list[Edit]:
    """Return the edit that prints a definition in the newest dialect; raise E0816 if tensors have no text there."""
    text, constants = script_with_constants(widened(module), NEWEST, shows_small=True)
    if constants:
        start = definition.start + len(definition.indentation)
        message = f"'{definition.name}' is not migrated: {NEWEST} has no text for its tensors"
        raise TvmsError(Diagnostic("E0816", message, Span(definition.source, start, start + 1)))
    file, _ = parse_syntax(Source(definition.name, text))
    text = without_header(applied(text, _with_declarations((), file, LETTERS)))
    if not definition.is_python:  # what precedes the definitions, such as comments, stays in the script
        first = _DECORATOR.search(text)
        text = text[first.start() if first else 0 :]
    return [Edit(definition.start, definition.end, definition.indented(text))]


class _Finder:
    """Collects the edits of a definition, and whether it has forms without a counterpart."""

    def __init__(self, definition: Definition, is_newest: bool) -> None:
        self._is_newest = is_newest
        self._text = definition.source.text
        bound = {name: value.name for name, value in definition.names.items() if isinstance(value, Namespace)}
        self.letters = LETTERS | {name: LETTERS.get(path, path) for name, path in bound.items()}
        self.edits: list[Edit] = []
        self.needs_printing = False
        self.refused: dict[str, syntax.Syntax] = {}
        """The first use of each form or argument that the newest TVM does not have."""

    def statement(self, node: syntax.Stmt, in_loops: bool) -> None:
        """Visit a statement; `in_loops` says that it belongs to a loop function."""
        if isinstance(node, syntax.Definition):
            form = self._form(node.head)
            in_loops = form in ("T.prim_func", "T.macro")
            if form == "T.prim_func" and not self._is_newest:
                self._open(node.head)
        if isinstance(node, syntax.ExprStmt) and in_loops:
            node = self._return(node)
        if isinstance(node, syntax.AnnAssign) and in_loops and node.value is not None:
            self._variable(node.annotation, node.value)
        if isinstance(node, syntax.Assign) and isinstance(node.target, syntax.Name) and node.target.id == _META:
            start = self._text.rfind("\n", 0, node.start) + 1
            self._replace(start, self._text.find("\n", node.end) + 1 or len(self._text), "")
            return
        if isinstance(node, syntax.Assign) and not in_loops and isinstance(node.value, syntax.Call):
            self.needs_printing |= self._is_constant(node.value)
        for name in node.__struct_fields__:
            for part in _parts(getattr(node, name)):
                if isinstance(part, syntax.Statement):
                    self.statement(part, in_loops)  # type: ignore[reportArgumentType]
                elif isinstance(part, syntax.Param):
                    for value in (part.annotation, part.default):
                        if value is not None:
                            self._expression(value, False, "")
                else:
                    self._expression(part, in_loops, "")

    def _open(self, head: syntax.Expr | None) -> None:
        """State that a loop function may contain blocks."""
        if isinstance(head, syntax.Call):
            if all(keyword.name != "s_tir" for keyword in head.keywords):
                end = head.end - 1
                separator = ", " if head.args or head.keywords else ""
                self._replace(end, end, f"{separator}s_tir=True")
        elif head is not None:
            self._replace(head.end, head.end, "(s_tir=True)")

    def _return(self, node: syntax.ExprStmt) -> syntax.ExprStmt:
        """Write `T.evaluate(T.ret(x))` and `T.ret(x)` as `return x`; return the statement that is left to visit."""
        call = node.value
        if isinstance(call, syntax.Call) and self._form(call.func) == "T.evaluate" and len(call.args) == 1:
            call = call.args[0]
        if isinstance(call, syntax.Call) and self._form(call.func) == "T.ret" and len(call.args) == 1:
            value = call.args[0]
            self._replace(node.value.start, value.start, "return ")
            self._replace(value.end, node.value.end, "")
            return replace(node, value=value)
        return node

    def _variable(self, annotation: syntax.Expr, value: syntax.Expr) -> None:
        """Declare that a variable is bound once; a call that returns a typed pointer names its type."""
        form = self._form(annotation) or ""
        if form == "T.let" and isinstance(annotation, syntax.Subscript):  # of the newest TVM
            annotation = annotation.indices[0]
            form = self._form(annotation) or ""
        kind = form.removeprefix("T.")
        if not self._is_newest and form.startswith("T.") and (is_dtype(kind) or kind in ("handle", "Ptr", "boolean")):
            self._replace(annotation.start, annotation.start, "T.let[")
            self._replace(annotation.end, annotation.end, "]")
        is_typed = kind in ("handle", "Ptr") and isinstance(annotation, syntax.Call | syntax.Subscript)
        if is_typed and isinstance(value, syntax.Call):
            said = [keyword.value for keyword in value.keywords if keyword.name == "dtype"]
            if kind == "handle" and len(said) == 1 and isinstance(said[0], syntax.Constant):
                self._replace(said[0].start, said[0].end, f"{self._text[annotation.start : annotation.end]}.ty")
            elif not self._is_newest:
                self.needs_printing = True

    def _is_constant(self, call: syntax.Call) -> bool:
        """Return whether a call makes a scalar of the loop level. A graph function names one for the text only, before the newest TVM."""
        kind = (self._form(call) or "").removeprefix("T.")
        return not self._is_newest and bool(call.args) and (is_dtype(kind) or kind in ("IntImm", "FloatImm"))

    def _expression(self, node: syntax.Syntax, in_loops: bool, around: str) -> None:
        """Visit an expression; `around` is the innermost form whose arguments it belongs to."""
        pending: list[tuple[syntax.Syntax, str]] = [(node, around)]
        while pending:
            node, around = pending.pop()
            form = self._form(node) if isinstance(node, syntax.Attribute) else None
            self._note_refused(node, form)
            if form in (LATE_REMOVED if self._is_newest else REMOVED):
                self.needs_printing = True
            elif form is not None and form in (LATE if self._is_newest else RENAMED):
                self._replace(after_root(node), node.end, RENAMED[form])
            elif isinstance(node, syntax.Attribute) and node.attr == "struct_info":
                self._replace(node.end - len(node.attr), node.end, "ty")
            elif isinstance(node, syntax.Keyword) and node.name in RENAMED_KEYWORDS:
                self._replace(node.start, node.start + len(node.name), RENAMED_KEYWORDS[node.name])
            elif isinstance(node, syntax.Keyword) and node.name in UNTYPED_KEYWORDS and around.startswith("R."):
                if isinstance(node.value, syntax.Constant) and node.value.value == "void":
                    self._replace(node.value.start, node.value.end, "None")
            elif isinstance(node, syntax.Slice) and in_loops and around not in REGIONS:
                self.needs_printing |= not self._is_newest or not around
            elif isinstance(node, syntax.Constant) and isinstance(node.value, str) and not self._is_newest:
                self._string(node, node.value, around)
            inner = around
            if isinstance(node, syntax.Call):
                inner = self._form(node.func) or around
                keywords = {keyword.name for keyword in node.keywords}
                has_type_first = inner == "T.Call" and len(node.args) > 2 and not self._is_newest
                if (
                    (inner == "R.Prim" and "value" in keywords)
                    or has_type_first
                    or (inner, keywords) == ("T.Var", {"dtype"})
                ):
                    self.needs_printing = True
                self._leave_out(node)
                if inner in TYPED_FIRST:
                    node = self._dtype_first(node)
                if inner in UNTYPED and keywords == {"dtype"}:
                    end = node.args[-1].end if node.args else node.func.end
                    self._replace(end, node.end, ")" if node.args else "()")
                    node = replace(node, keywords=())
                allocates = inner == "T.decl_buffer" and "data" not in keywords and len(node.args) < 3
                masks = "predicate" in keywords and isinstance(node.func, syntax.Attribute) and node.func.attr in MASKED
                if masks or (allocates and not self._is_newest):
                    self.needs_printing = True
            for name in node.__struct_fields__:
                pending.extend((part, inner) for part in _parts(getattr(node, name)))

    def _note_refused(self, node: syntax.Syntax, form: str | None) -> None:
        if form is not None and (form in WITHOUT_SUCCESSOR or form.startswith(("R.dist.", "R.inspect."))):
            self.refused.setdefault(form, node)
        if isinstance(node, syntax.Keyword) and node.name in KEYWORDS_WITHOUT_SUCCESSOR:
            value = node.value
            if not _is_empty(value):
                self.refused.setdefault(f"{node.name}=", node)

    def _leave_out(self, call: syntax.Call) -> None:
        """Leave out arguments that the newest TVM does not have, and that say nothing, such as `axis_separators=[]`."""
        arguments = (*call.args, *call.keywords)
        for before, keyword in zip((None, *arguments), arguments, strict=False):
            if not isinstance(keyword, syntax.Keyword):
                continue
            if keyword.name == "is_size_var" or (
                keyword.name in KEYWORDS_WITHOUT_SUCCESSOR and _is_empty(keyword.value)
            ):
                self._replace(keyword.start if before is None else before.end, keyword.end, "")

    def _dtype_first(self, call: syntax.Call) -> syntax.Call:
        """Write the dtype of a call, its last argument, as the first one; return the call without it."""
        *before, last = (*call.args, *call.keywords)
        if before and isinstance(last, syntax.Keyword) and last.name == "dtype":
            self._replace(before[0].start, before[0].start, f"{self._text[last.value.start : last.value.end]}, ")
            self._replace(before[-1].end, last.end, "")
            return replace(call, keywords=call.keywords[:-1])
        return call

    def refusals(self, source: Source) -> Iterator[Diagnostic]:
        """Yield a warning for each form or argument that the newest TVM does not have."""
        for name, node in self.refused.items():
            message = f"the newest TVM has no '{name}', and refuses this definition"
            help = "replace it by hand, or keep the definition for the version that it was written for"
            yield Diagnostic("E0816", message, Span(source, node.start, node.end), help, severity="warning")

    def _string(self, node: syntax.Constant, text: str, around: str) -> None:
        """Rename a key, an intrinsic or a dtype in a string; print a target that has options."""
        if around in KEYED and text.startswith("tir."):
            self._replace(node.start + 1, node.start + 4, "tirx")
        elif around in _TARGETS and " -" in text:
            self.needs_printing = True
        else:
            name, dtype = self._text[node.start + 1 : node.end - 1], text.rpartition("x")[0] or text
            for old in (text, dtype):
                if name == text and old in OLDER_DTYPES:
                    self._replace(node.start + 1, node.start + 1 + len(old), OLDER_DTYPES[old])
                    return

    def _form(self, node: syntax.Expr | None) -> str | None:
        return form_name(node, self.letters)

    def _replace(self, start: int, end: int, text: str) -> None:
        self.edits.append(Edit(start, end, text))


def _is_empty(value: syntax.Expr) -> bool:
    """Return whether an argument says nothing, as `[]` and `None` do."""
    if isinstance(value, syntax.Tuple | syntax.List):
        return not value.elements
    return isinstance(value, syntax.Constant) and value.value in (None, False, "", "default")


def _parts(value: Any) -> Iterator[syntax.Syntax]:
    """Yield the nodes of a field."""
    if isinstance(value, syntax.Syntax):
        yield value
    elif isinstance(value, tuple):
        yield from (part for part in value if isinstance(part, syntax.Syntax))  # type: ignore[reportUnknownVariableType]
