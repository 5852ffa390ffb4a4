"""Group operators into kernels (TVM: `FuseOps`).

The bindings of a dataflow block form a graph. A node is fused with its immediate post-dominator, the nearest node that
all paths from it pass through, if the patterns of all nodes between them allow it (Relay's algorithm, in
`graph_partitioner.cc`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from msgspec import Struct, field
from msgspec.structs import replace

from .. import relax, tir
from ..base import GlobalVar, IRModule, Node, Op
from ..deep import deep
from ..visit import walk
from .fuse_by_pattern import CODEGEN
from .grouping import PRIMITIVE, Group, GroupFuser
from .memory_order import MemoryOrder
from .op_pattern import OP_PATTERN, OpPatternKind
from .transform import PassContext, declare_pass

MOST_FUSED = 256
"""Maximum number of operators in a kernel, unless the option `relax.FuseOps.max_depth` is set."""


@declare_pass("FuseOps", required=["AnnotateTIROpPattern"])
@deep
def fuse_ops(mod: IRModule, fuse_opt_level: int = -1) -> IRModule:
    """Fuse calls of loop functions into private functions with the attribute Primitive.

    The loop functions need the attribute `op_pattern`. Level 0 disables fusion; -1 uses the level of the context.
    """
    context = PassContext.current()
    if (context.opt_level if fuse_opt_level == -1 else fuse_opt_level) == 0:
        return mod
    groups: dict[relax.Var, Group] = {}
    memory = MemoryOrder(mod)
    names: list[str] = []
    for name, function in mod.functions.items():
        if isinstance(function, relax.Function) and not {PRIMITIVE, CODEGEN} & function.attrs.keys():
            names.append(name)
            for block in walk(function):
                if isinstance(block, relax.DataflowBlock):
                    limit = int(context.config.get("relax.FuseOps.max_depth", MOST_FUSED))
                    groups |= _Partition(mod, function, block, memory, limit).groups()
    if all(group.is_alone for group in groups.values()):
        return mod
    fuser = GroupFuser(mod, groups)
    changed = {name: fuser.function(mod[name]) for name in names}  # type: ignore[reportArgumentType]
    return replace(mod, functions={**fuser.functions, **changed})


class _Node(Struct, eq=False):
    """Node for a binding: its pattern, its users, and its group."""

    var: relax.Var
    pattern: OpPatternKind
    is_visible: bool
    """Whether it is used outside of its block, so that it cannot be an inner value of a group."""
    users: list[tuple[_Node, OpPatternKind]] = field(default_factory=list["tuple[_Node, OpPatternKind]"])
    parent: _Node | None = None
    """Immediate post-dominator."""
    edge: OpPatternKind = OpPatternKind.ELEMWISE
    """Highest pattern on the path to `parent`."""
    depth: int = 1
    members: list[_Node] = field(default_factory=list["_Node"])
    """Nodes of the group, if this node represents it."""
    root: _Node | None = None
    anchor: bool = False
    """Whether the group contains a heavy operator, if this node represents it."""
    kind: OpPatternKind = OpPatternKind.OPAQUE
    """Pattern of the group, if this node represents it."""

    def find(self) -> _Node:
        """Return the node that represents the group of this one."""
        node = self
        while node.root is not None:
            node = node.root
        return node


class _Partition:
    """Groups of one dataflow block."""

    def __init__(
        self, mod: IRModule, function: relax.Function, block: relax.DataflowBlock, memory: MemoryOrder, limit: int
    ) -> None:
        self._mod, self._limit, self._needs = mod, limit, memory.needs(block.bindings)
        count = function.attrs.get("num_input")
        first = int(getattr(count, "value", count)) if count is not None else len(function.params)
        self._packed_params = set(function.params[first:])
        self._nodes: dict[relax.Var, _Node] = {}
        for binding in block.bindings:
            self._add(binding)
        for node in self._nodes.values():
            node.members, node.kind = [node], node.pattern
            node.anchor = node.pattern is OpPatternKind.OUT_ELEMWISE_FUSABLE
        for node in reversed(self._nodes.values()):
            self._dominate(node)

    def groups(self) -> dict[relax.Var, Group]:
        """Return the group of every variable of the block."""
        for phase in (0, 1):
            for node in self._nodes.values():
                self._fuse(node, phase)
        made: dict[_Node, Group] = {}
        for node in self._nodes.values():
            made.setdefault(node.find(), Group()).variables.append(node.var)
        return {var: group for group in made.values() for var in group.variables}

    # --- The graph

    def _add(self, binding: relax.Binding) -> None:
        pattern, operands = self._pattern(binding)
        node = _Node(binding.var, pattern, not isinstance(binding.var, relax.DataflowVar))
        for operand in operands:
            if isinstance(operand, relax.Var) and operand in self._nodes:
                self._nodes[operand].users.append((node, pattern))
        for earlier in self._needs.get(binding.var, ()):
            self._nodes[earlier].users.append((node, OpPatternKind.OPAQUE))
        self._nodes[binding.var] = node

    def _pattern(self, binding: relax.Binding) -> tuple[OpPatternKind, Iterable[Node]]:
        value = binding.value
        if isinstance(binding, relax.MatchCast):
            return OpPatternKind.OPAQUE, walk(value)
        match value:
            case relax.Call(op=Op(name="relax.call_tir")) if isinstance(value.args[1], relax.Tuple):
                return self._pattern_of(value.args[0]), walk(value.args[1])
            case relax.TupleGetItem(tuple_value=whole):
                is_packed = whole in self._packed_params
                return (OpPatternKind.OPAQUE if is_packed else OpPatternKind.INJECTIVE), (whole,)
            case _:
                return OpPatternKind.OPAQUE, walk(value)

    def _pattern_of(self, callee: Node) -> OpPatternKind:
        function = self._mod.functions.get(callee.name_hint) if isinstance(callee, GlobalVar) else None
        given = function.attrs.get(OP_PATTERN) if isinstance(function, tir.PrimFunc) else None
        return OpPatternKind.OPAQUE if given is None else OpPatternKind(int(getattr(given, "value", given)))

    def _dominate(self, node: _Node) -> None:
        """Set the immediate post-dominator of a node; the post-dominators of its users are known."""
        if node.is_visible or not node.users:
            return
        (parent, edge), *others = node.users
        for user, pattern in others:
            common, between = _common(parent, user)
            edge = max(edge, between, pattern)
            if common is None:
                return
            parent = common
        node.parent, node.edge, node.depth = parent, edge, parent.depth + 1

    # --- Fusion

    def _fuse(self, node: _Node, phase: int) -> None:
        """Fuse a node with its post-dominator, if that is allowed.

        In phase 0 heavy operators are fused with their users, in phase 1 injective ones; elementwise ones are fused in
        both.
        """
        sink = node.parent
        if node.kind is OpPatternKind.OPAQUE or sink is None or node.find() is sink.find():
            return
        size = len(sink.find().members) + len(self._between(node, sink))
        if size > self._limit:
            return
        kind, edge = node.kind, node.edge
        if kind is OpPatternKind.OUT_ELEMWISE_FUSABLE:
            if phase == 0 and edge is OpPatternKind.ELEMWISE:
                self._commit(node, sink, lambda op_pattern_kind, is_sink: op_pattern_kind <= OpPatternKind.BROADCAST)
        elif kind <= OpPatternKind.BROADCAST:
            if edge <= OpPatternKind.INJECTIVE or edge is OpPatternKind.COMM_REDUCE:
                self._commit(node, sink, _light_into)
        elif kind is OpPatternKind.INJECTIVE and phase == 1:
            self._commit(node, sink, lambda op_pattern_kind, is_sink: op_pattern_kind <= OpPatternKind.INJECTIVE)

    def _between(self, source: _Node, sink: _Node) -> list[_Node]:
        """Return the nodes on all paths from `source` to `sink`, including `source` but not `sink`."""
        found: list[_Node] = []
        stack = [source]
        while stack:
            node = stack.pop()
            if node is not sink and node not in found:
                found.append(node)
                stack += [user for user, _ in node.users]
        return found

    def _commit(self, source: _Node, sink: _Node, allows: Callable[[OpPatternKind, bool], bool]) -> None:
        """Merge all nodes from `source` to `sink` into one group, if the groups on all paths allow it."""
        between = self._between(source, sink)
        if not all(allows(node.find().kind, False) for node in between if node is not source):
            return
        if not allows(sink.find().kind, True):
            return
        target = sink.find()
        anchors = {node.find() for node in (*between, sink) if node.find().anchor}
        if len(anchors) > 1:
            return
        for node in between:
            group = node.find()
            if group is target:
                continue
            group.root = target
            target.members += group.members
            if group.anchor:
                target.anchor, target.kind = True, max(group.kind, target.kind)


def _light_into(kind: OpPatternKind, is_sink: bool) -> bool:
    """Return whether an elementwise operator may be fused across, or into, a group with this pattern."""
    return kind <= OpPatternKind.INJECTIVE or (
        is_sink and kind in (OpPatternKind.COMM_REDUCE, OpPatternKind.OUT_ELEMWISE_FUSABLE)
    )


def _common(a: _Node | None, b: _Node | None) -> tuple[_Node | None, OpPatternKind]:
    """Return the nearest common post-dominator of two nodes, and the highest pattern on the paths to it."""
    worst = OpPatternKind.ELEMWISE
    while a is not b:
        if a is None or b is None:
            return None, worst
        if a.depth >= b.depth:
            worst, higher = max(worst, a.edge), a.parent
            if a.depth == b.depth:
                worst, b = max(worst, b.edge), b.parent
            a = higher
        else:
            worst, b = max(worst, b.edge), b.parent
    return a, worst
