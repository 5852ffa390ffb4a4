"""The state of a printer: open scopes, names, lines; and the tables of handlers by kind of node."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, TypeAlias, cast

from ...ir import relax
from ...ir.base import GlobalInfo, IRModule, Metadata, Node, Source, Span, Trivia
from ...ir.tir import IntImm
from ..declarations import place_comments
from .dialects import Dialect
from .literals import identifier, short_float, string, tvm_float
from .options import Options

Lines: TypeAlias = list[Any]
"""Lines of text and lists of lines, in order; the nesting makes late insertions cheap."""

EXPRESSIONS: dict[type, Callable[[Printer, Any, int], str]] = {}
"""Handlers of expressions by kind of node: they return the text, in parentheses if it binds looser than the level."""
STATEMENTS: dict[type, Callable[[Printer, Any], None]] = {}
"""Handlers of statements by kind of node: they add lines to the innermost frame."""

RESERVED = ("I", "T", "R", "cls", "range", "metadata")
MARK, END_MARK = "\ufdd0", "\ufdd1"
"""Delimiters of marked text: noncharacters of Unicode, which no text contains."""


def prints(*kinds: type) -> Callable[[Callable[[Printer, Any, int], str]], Callable[[Printer, Any, int], str]]:
    """Register the decorated function as the handler of these kinds of expressions."""

    def enter(function: Callable[[Printer, Any, int], str]) -> Callable[[Printer, Any, int], str]:
        EXPRESSIONS.update(dict.fromkeys(kinds, function))
        return function

    return enter


def prints_lines(*kinds: type) -> Callable[[Callable[[Printer, Any], None]], Callable[[Printer, Any], None]]:
    """Register the decorated function as the handler of these kinds of statements."""

    def enter(function: Callable[[Printer, Any], None]) -> Callable[[Printer, Any], None]:
        STATEMENTS.update(dict.fromkeys(kinds, function))
        return function

    return enter


class Placed(str):
    """A line of printed text, with the position of the innermost statement around it that was parsed from a text."""

    __slots__ = ("span",)
    span: Span

    @classmethod
    def at(cls, span: Span, line: str) -> Placed:
        """Return a line with the position of its statement."""
        placed = cls(line)
        placed.span = span
        return placed


class Frame:
    """A scope that is being printed: its lines so far, and the names that end with it."""

    __slots__ = ("concise", "defined", "function_vars", "indent", "is_function", "lines", "module_alias", "node")

    def __init__(self, node: object, indent: str, is_function: bool = False) -> None:
        self.node = node
        self.indent = indent
        self.lines: Lines = []
        self.defined: list[object] = []
        self.concise = False
        """Whether a statement whose scope is the rest of this frame can be printed without `with`."""
        self.is_function = is_function
        """Whether this is the scope of a graph function."""
        self.function_vars: set[object] | None = None
        """The symbolic dimensions seen so far while the signature is printed; None afterwards."""
        self.module_alias = False
        """Whether the line `cls = Module` has been printed."""

    def line(self, text: str) -> None:
        """Add a line at the indentation of the frame."""
        self.lines.append(self.indent + text)


class Printer:
    """Prints one node in one dialect."""

    def __init__(self, dialect: Dialect, options: Options) -> None:
        self.dialect = dialect
        self.options = options
        self._indent = " " * options.indent_spaces
        self.float_text = short_float if dialect.native else tvm_float
        self.frames: list[Frame] = []
        self.names: dict[object, str | Callable[[], str]] = {}
        self.taken: set[str] = set(RESERVED)
        self.suffixes: dict[str, int] = {}
        """For each name, the number below which all its numbered forms are taken."""
        self.used: set[str] = set()
        """Namespaces that the text uses so far: "ir", "tir", "relax"."""
        self.in_relax = False
        """Whether expressions are at the graph level, where plain integers are int64."""
        self.module: IRModule | None = None
        self.function_name: str | None = None
        """Name of the next function, if its module determines it."""
        self.root: Node | None = None
        """The node that is searched for uses of free variables."""
        self.places: Any = None
        """Result of that search, `variables.Places`; None before the search."""
        self.accessed: set[object] | None = None
        """Buffers in `root` that are used outside their declaration; None before the search."""
        self.passed: set[object] = set()
        """Symbolic dimensions that a parameter of the same name passes."""
        self.inlined: set[object] = set()
        """Handle parameters that the signature shows as buffers."""
        self.constants: dict[object, int] = {}
        """Constants that are too large for the text, numbered."""
        self.stored: dict[str, relax.Constant] = {}
        """Tensors that the text names but does not show, for the sidecar file."""
        self.stored_names: dict[relax.Constant, str] = {}
        self.vdevices: list[GlobalInfo] = []
        self.omits_metadata = False
        self.marks: frozenset[object] = frozenset()
        """Loops and blocks to be marked in the text."""
        self.source: Source | None = None
        """The text whose positions lines get (`Placed`), if any."""
        self._span: Span | None = None
        """The position of the innermost statement that is being printed and has one."""

    # --- Text ------------------------------------------------------------------------------------------------

    def tir(self, name: str) -> str:
        """Return `T.name`."""
        self.used.add("tir")
        return f"T.{name}"

    def relax(self, name: str) -> str:
        """Return `R.name`."""
        self.used.add("relax")
        return f"R.{name}"

    def ir(self, name: str) -> str:
        """Return `I.name`."""
        self.used.add("ir")
        return f"I.{name}"

    def expr(self, node: Any, level: int = 0) -> str:
        """Return the text of an expression, in parentheses if its precedence is below `level`."""
        handler = EXPRESSIONS.get(node.__class__)
        return self.value(node) if handler is None else handler(self, node, level)

    def joined(self, nodes: Any) -> str:
        """Return the texts of expressions with commas between them."""
        return ", ".join([self.expr(node) for node in nodes])

    def tuple(self, nodes: Any) -> str:
        """Return expressions as a tuple."""
        return f"({self.expr(nodes[0])},)" if len(nodes) == 1 else f"({self.joined(nodes)})"

    def value(self, value: Any) -> str:
        """Return the text of an attribute's value."""
        if isinstance(value, str):
            return string(value)
        if value is None or isinstance(value, bool | int):
            return str(value)
        if isinstance(value, float):
            text = self.float_text(value)
            return text if not text.lstrip("-").isdigit() else f"{text}.0"
        if isinstance(value, tuple | list):
            return f"[{', '.join([self.attr_value(item) for item in cast('list[Any]', value)])}]"
        if isinstance(value, dict):
            return self.attrs(cast("dict[Any, Any]", value))
        return self.metadata(value)

    def attr_value(self, value: Any) -> str:
        """Return the text of an attribute's value, in which `1` and `T.int32(1)` are different, and tuples and lists are not."""
        if isinstance(value, IntImm):
            return f"{self.tir(value.dtype)}({bool(value.value) if value.dtype == 'bool' else value.value})"
        if isinstance(value, relax.Tuple):
            return f"{self.relax('tuple')}({self.joined(value.fields)})"
        return self.expr(value)

    def attrs(self, attrs: dict[Any, Any]) -> str:
        """Return attributes as a dict, sorted by key."""
        keys = sorted(attrs) if all(isinstance(key, str) for key in attrs) else list(attrs)
        return (
            "{"
            + ", ".join([f"{self.attr_value(self.attr_key(key))}: {self.attr_value(attrs[key])}" for key in keys])
            + "}"
        )

    def attr_key(self, key: Any) -> Any:
        """Return the key of an attribute in the spelling of the dialect."""
        if isinstance(key, str) and key.startswith("tir."):
            return self.dialect.attr_prefix + key[4:]
        return key

    def metadata(self, node: Any) -> str:
        """Return the reference `metadata[…][…]` to an object that is too large to print, or that has no syntax."""
        self.omits_metadata = True
        key, index = _type_key(node), self.constants.setdefault(node, len(self.constants))
        if isinstance(node, relax.Constant):
            self.stored[Metadata(key, index).name] = node
        return f"metadata[{string(key)}][{index}]"

    def stored_name(self, node: relax.Constant) -> str:
        """Return the unique name of a tensor that is kept beside the text, its own if possible."""
        if node not in self.stored_names:
            hint = node.name or "constant"
            names = (hint if count == 0 else f"{hint}_{count}" for count in range(len(self.stored) + 1))
            name = next(name for name in names if name not in self.stored)
            self.stored_names[node], self.stored[name] = name, node
        return self.stored_names[node]

    # --- Names -----------------------------------------------------------------------------------------------

    def define(self, node: object, hint: str, frame: Frame | None = None) -> str:
        """Give `node` a name until `frame` ends, the innermost one by default, and return it."""
        known = self.names.get(node)
        if known is not None:
            return known if isinstance(known, str) else known()
        base = identifier(hint)
        count = self.suffixes.get(base, 0)
        name = f"{base}_{count}" if count else base
        while name in self.taken:
            count += 1
            name = f"{base}_{count}"
        self.suffixes[base] = count + 1
        self.taken.add(name)
        self.names[node] = name
        (frame or self.frames[-1]).defined.append(node)
        return name

    def define_as(self, node: object, text: Callable[[], str], frame: Frame) -> None:
        """Print `node` as the result of `text` until `frame` ends."""
        self.names[node] = text
        frame.defined.append(node)

    def name_of(self, node: object) -> str | None:
        """Return the text that names `node`, or None if it is not defined."""
        known = self.names.get(node)
        return known if known is None or isinstance(known, str) else known()

    @contextmanager
    def frame(self, node: object, indented: bool = True, is_function: bool = False) -> Generator[Frame]:
        """Open a scope; names that are defined in it end with it."""
        outer = self.frames[-1].indent if self.frames else ""
        frame = Frame(node, outer + self._indent if indented else outer, is_function)
        self.frames.append(frame)
        try:
            yield frame
        finally:
            self.frames.pop()
            for item in frame.defined:
                name = self.names.pop(item, None)
                if isinstance(name, str):
                    self._free(name)

    def _free(self, name: str) -> None:
        self.taken.discard(name)
        self.suffixes[name] = 0
        base, _, count = name.rpartition("_")
        if count.isdigit() and base in self.suffixes:
            self.suffixes[base] = min(self.suffixes[base], int(count))

    def marked(self, node: object, text: str) -> str:
        """Return the text that names a loop or block, marked if that is requested."""
        return f"{MARK}{text}{END_MARK}" if node in self.marks else text

    @property
    def outer_frame(self) -> Frame:
        """The frame in which a variable that nothing defines is declared."""
        if not self.dialect.declares_outside:
            return self.frames[-1]
        return next(frame for frame in reversed(self.frames) if not isinstance(frame.node, relax.DataflowBlock))

    # --- Lines -----------------------------------------------------------------------------------------------

    def statement(self, node: Any) -> None:
        """Add the lines of a statement, a function or a module to the innermost frame."""
        if self.source is None:
            STATEMENTS[type(node)](self, node)
            return
        around, lines = self._span, self.frames[-1].lines
        own = node.span
        self._span = span = own if own is not None and own.source is self.source else around
        before = len(lines)
        STATEMENTS[type(node)](self, node)
        if span is not None:
            lines[before:] = [Placed.at(span, line) if type(line) is str else line for line in lines[before:]]
        self._span = around

    def add(self, head: str, trivia: Trivia | None = None, body: Frame | None = None) -> None:
        """Add a statement to the innermost frame: its first line, and the lines of its body, if it has one."""
        frame = self.frames[-1]
        if trivia is None:
            frame.lines.append(frame.indent + head)
            if body is not None:
                frame.lines.append(body.lines)
            return
        frame.lines.extend([frame.indent + comment for comment in trivia.before])
        frame.lines.append(f"{frame.indent}{head}  {trivia.after}" if trivia.after else frame.indent + head)
        if body is not None:
            place_comments(body.lines, body.indent, trivia)
            body.lines.extend([body.indent + comment for comment in trivia.end])
            frame.lines.append(body.lines)


def take_end_comments(frame: Frame) -> list[str]:
    """Remove the comments at the end of a branch, and return them; the parser reads them as part of the branch below."""
    found: list[str] = []
    lines = frame.lines
    while lines:
        last = lines[-1]
        if not isinstance(last, str):
            lines = last
        elif last.startswith(f"{frame.indent}#"):
            found.append(last)
            lines.pop()
        else:
            break
    return found[::-1]


def module_name(module: IRModule) -> str:
    """Return the name of a module in its text; an empty string if the text consists of bare functions."""
    return module.name or ("Module" if module.attrs or module.global_infos else "")


def _type_key(node: object) -> str:
    room = type(node).__module__.rsplit(".", 1)[-1]
    return f"relax.expr.{type(node).__name__}" if room == "relax" else f"{room}.{type(node).__name__}"


def flatten(lines: Lines) -> list[str]:
    """Return nested lines as a flat list."""
    flat: list[str] = []
    stack = [iter(lines)]
    while stack:
        for item in stack[-1]:
            if isinstance(item, str):
                flat.append(item)
            else:
                stack.append(iter(item))
                break
        else:
            stack.pop()
    return flat
