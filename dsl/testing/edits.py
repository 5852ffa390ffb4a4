"""Random edits of a text, as the statements that they touch: what two people may do to one file."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct

from ..revisions.outline import CLAUSE, DEFINITION, FILE, STATEMENT, Node, Row
from .choices import Choices

_NUMBER = re.compile(r"(?<![\w.\"'])\d+(?![\w.\"'])")
_FORMS = re.compile(
    r"[TRSI]|cls|Module|self|def|class|for|in|if|else|elif|with|as|return|assert|and|or|not|True|False|None|lambda"
)
TRIES = 4
"""Number of statements and kinds of edits to try for each edit."""
_KINDS = ("change", "insert", "comment", "delete", "move", "rename", "function")


class Edit(Struct, frozen=True):
    """One edit, by the numbers of nodes in the order of the text. `mark` occurs in no other place of any revision."""

    kind: str
    node: int
    """The statement, or the block for an insertion."""
    mark: int
    gap: int = 0
    """The place of an insertion, or to which a statement is moved, among the children of its block."""
    name: str = ""
    """The variable to rename."""

    def __str__(self) -> str:
        return f"{self.kind} {self.node} {self.mark} {self.gap} {self.name or '-'}"

    @staticmethod
    def read(text: str) -> Edit:
        """Return the edit that `str` writes."""
        kind, node, mark, gap, name = text.split()
        return Edit(kind, int(node), int(mark), int(gap), name if name != "-" else "")

    @property
    def text(self) -> str:
        """What only the edit adds to a text; empty for edits that add nothing."""
        return {"comment": f"# mark {self.mark}", "rename": f"name_{self.mark}", "change": str(self.mark)}.get(
            self.kind, f"mark_{self.mark}" if self.kind in ("insert", "function") else ""
        )


def draw_edits(choose: Choices, root: Node, first_mark: int, near: Sequence[int] = ()) -> list[Edit]:
    """Return up to six edits of different statements, some of them at, before or after the statements `near`."""
    nodes, edits, used = list(root.walk()), list[Edit](), set[int]()
    digests = Counter(node.digest for node in nodes)
    for number in range(choose.number(1, 4) * TRIES):
        if len(edits) * TRIES > number:
            continue
        kind, mark = choose.pick(_KINDS), first_mark + number
        index = choose.number(0, len(nodes) - 1)
        if near and choose.number(0, 1):
            index = min(max(choose.pick(near) + choose.number(-1, 1), 0), len(nodes) - 1)
        node = nodes[index]
        fits = digests[node.digest] == 1 and index not in used and _fits(kind, node)
        if not fits:
            continue
        name = ""
        if kind == "rename":
            names = sorted({token for part in node.walk() for token in part.tokens if _is_variable(token)})
            if not names:
                continue
            name = choose.pick(names)
        siblings = node.children if kind in ("insert", "function") else node.parent.children if node.parent else []
        gap = choose.number(0, sum(child.kind != CLAUSE for child in siblings))
        edit = Edit(kind, index, mark, gap, name)
        touched = {item for item in touches(root, edit) if isinstance(item, int)}
        if touched & used:
            continue
        used |= touched
        edits.append(edit)
    return edits


def _fits(kind: str, node: Node) -> bool:
    match kind:
        case "insert":
            return bool(node.children) and node.kind not in (FILE,) and not _holds_definitions(node)
        case "function":
            return node.kind == FILE or _holds_definitions(node)
        case "rename":
            return node.kind == DEFINITION and not _holds_definitions(node)
        case "change":
            return node.kind == STATEMENT and any(
                row.indent is not None and _NUMBER.search(row.text.partition("#")[0]) for row in node.rows
            )
        case "comment":
            return node.kind in (STATEMENT, DEFINITION)
        case _:
            around = node.parent
            return node.kind == STATEMENT and around is not None and len(around.children) > 3


def _holds_definitions(node: Node) -> bool:
    return any(child.kind == DEFINITION for child in node.children)


def _is_variable(token: str) -> bool:
    return token.isidentifier() and _FORMS.fullmatch(token) is None and len(token) < 4


def touches(root: Node, edit: Edit) -> set[object]:
    """Return the numbers of the statements that an edit touches, and `("in", n)` for blocks that must exist, or end."""
    nodes = list(root.walk())
    number = {node: index for index, node in enumerate(nodes)}
    node = nodes[edit.node]
    match edit.kind:
        case "insert":
            return {("in", edit.node)}
        case "function":
            return {("in", edit.node), *(number[below] for below in _taken(node, edit.gap))}
        case "delete" | "move":
            inside = [number[part] for part in node.walk()]
            below = [number[part] for part in _taken(node.parent, edit.gap)] if node.parent and node.children else []
            return {*inside, *(("in", place) for place in inside), *below}
        case "rename":
            return {number[part] for part in node.walk() if edit.name in part.tokens}
        case _:
            return {edit.node}


def _taken(around: Node, gap: int) -> list[Node]:
    """Return the statement at a gap, if a comment above it is indented further: a block that is put there takes the comment."""
    return [below for below in around.children[gap : gap + 1] if any((row.indent or 0) > 0 for row in below.lead)]


def gaps(root: Node, edits: Sequence[Edit]) -> list[tuple[int, int, int]]:
    """Return where edits add statements: the block, and the first and last place that cannot be told apart in the result."""
    nodes = list(root.walk())
    number = {node: index for index, node in enumerate(nodes)}
    gone = {edit.node for edit in edits if edit.kind in ("delete", "move")}
    found: list[tuple[int, int, int]] = []
    for edit in edits:
        if edit.kind not in ("insert", "function", "move"):
            continue
        around = nodes[edit.node].parent if edit.kind == "move" else nodes[edit.node]
        assert around is not None
        low = high = edit.gap
        while low > 0 and number[around.children[low - 1]] in gone:
            low -= 1
        while high < len(around.children) and number[around.children[high]] in gone:
            high += 1
        found.append((number[around], low, high))
    return found


def are_disjoint(root: Node, ours: Sequence[Edit], theirs: Sequence[Edit]) -> bool:
    """Return whether no edit of one side touches what one of the other touches."""
    left, right = ({item for edit in side for item in touches(root, edit)} for side in (ours, theirs))
    if left & right or any(
        _moving(root, one) & _arranged(root, other) for one, other in ((ours, theirs), (theirs, ours))
    ):
        return False
    return not any(
        block == other and low <= last and first <= high
        for block, low, high in gaps(root, ours)
        for other, first, last in gaps(root, theirs)
    )


def _moving(root: Node, edits: Sequence[Edit]) -> set[Node | None]:
    """Return the blocks in which edits move a statement. Which one has moved cannot be told from the result."""
    nodes = list(root.walk())
    return {nodes[edit.node].parent for edit in edits if edit.kind == "move"}


def _arranged(root: Node, edits: Sequence[Edit]) -> set[Node | None]:
    """Return the blocks whose sequence of statements edits change."""
    nodes = list(root.walk())
    gone = {nodes[edit.node].parent for edit in edits if edit.kind in ("move", "delete")}
    return gone | {nodes[edit.node] for edit in edits if edit.kind in ("insert", "function")}


def edited(root: Node, edits: Iterable[Edit]) -> str:
    """Return the text of a tree after edits."""
    return "\n".join(_Edited(root, list(edits)).lines()) + "\n"


class _Edited:
    def __init__(self, root: Node, edits: Sequence[Edit]) -> None:
        self.root = root
        nodes = list(root.walk())
        self.number = {node: index for index, node in enumerate(nodes)}
        self.changes = {edit.node: edit for edit in edits if edit.kind in ("change", "comment")}
        self.gone = {edit.node for edit in edits if edit.kind in ("delete", "move")}
        self.renames = [(edit, nodes[edit.node]) for edit in edits if edit.kind == "rename"]
        self.added: dict[tuple[int, int], list[Node | Edit]] = {}
        for edit in edits:
            around = nodes[edit.node].parent if edit.kind == "move" else nodes[edit.node]
            if edit.kind in ("insert", "function", "move") and around is not None:
                what = nodes[edit.node] if edit.kind == "move" else edit
                self.added.setdefault((self.number[around], edit.gap), []).append(what)

    def lines(self) -> list[str]:
        found: list[str] = []
        self._node(self.root, 0, {}, found)
        return found

    def _node(self, node: Node, column: int, names: dict[str, str], found: list[str]) -> None:
        edit = self.changes.get(self.number[node])
        names = {**names, **{item.name: item.text for item, definition in self.renames if definition is node}}
        rows: list[Row] = [*node.lead]
        rows += [Row(0, edit.text)] if edit is not None and edit.kind == "comment" else []
        is_open = edit is not None and edit.kind == "change"
        for row in node.rows:
            code, sign, comment = row.text.partition("#")
            if is_open and edit is not None and row.indent is not None and _NUMBER.search(code):
                code, is_open = _NUMBER.sub(edit.text, code, count=1), False
            rows.append(Row(row.indent, _with_names(code, names) + sign + comment))
        found += [row.at(column) for row in rows]
        place = self.number[node]
        inner = column + node.depth
        size = node.body_size
        for index, child in enumerate([*node.children, None]):
            if index == size:
                found += [row.at(inner) for row in node.tail] if not self._has_added(place, index, size) else []
            for item in self.added.get((place, index), ()):
                self._added(node, item, inner, names, found)
            if index == size and self._has_added(place, index, size):
                found += [row.at(inner) for row in node.tail]
            if child is not None and self.number[child] not in self.gone:
                self._node(child, node.column_of(child, column), names, found)

    def _has_added(self, place: int, index: int, size: int) -> bool:
        return bool(self.added.get((place, index))) and index == size

    def _added(self, around: Node, item: Node | Edit, column: int, names: dict[str, str], found: list[str]) -> None:
        if isinstance(item, Node):
            return self._node(item, column, names, found)
        margin = " " * column
        if item.kind == "function":
            text = f'T.prim_func {item.text}(A: T.Buffer(({item.mark},), "float32")):\n{margin}    A[0] = T.float32({item.mark})'
            found += [f"{margin}{text}"]
        else:
            is_graph = _is_in_graph(around)
            found.append(
                f"{margin}{item.text} = R.const({item.mark})"
                if is_graph
                else f"{margin}{item.text}: T.int32 = {item.mark}"
            )
        return None


def _is_in_graph(node: Node) -> bool:
    around: Node | None = node
    while around is not None:
        if around.kind == DEFINITION and around.tokens[0] == "R":
            return True
        around = around.parent
    return False


_WORD = re.compile(r"(\"[^\"\n]*\"|'[^'\n]*')|(?<![\w.])([^\W\d]\w*)")


def _with_names(code: str, names: dict[str, str]) -> str:
    """Return code in which variables have other names, outside of strings."""
    if not names:
        return code
    rename: Callable[[re.Match[str]], str] = lambda match: match[1] or names.get(match[2], match[2])  # noqa: E731
    return _WORD.sub(rename, code)
