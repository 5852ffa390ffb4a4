"""Ways to continue a stopped run, and where each ends."""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

from .timeline import Step

Kind: TypeAlias = Literal["into", "over", "out", "loop", "continue"]


class Motion(Struct, frozen=True):
    """A motion from `origin`: into the next step, over calls, out of the function, over the loop, or to the next breakpoint.

    `until` is a condition that ends the motion as well; it counts where it can be evaluated. So does `line`, a line of the
    text of `origin`.
    """

    kind: Kind
    origin: Step | None = None
    until: str | None = None
    line: int | None = None

    def ends(self, step: Step) -> bool:
        """Return whether the motion ends at `step`, without regard to `until`."""
        origin = self.origin
        if origin is None:
            return self.kind != "continue"
        if self.line is not None and step.place.line == self.line and step.place.source is origin.place.source:
            return True
        depth, start = step.activation.depth, origin.activation.depth
        match self.kind:
            case "into":
                return True
            case "over":
                return depth <= start
            case "out":
                return depth < start
            case "loop":
                loop = origin.place.loop
                return depth < start or (
                    depth == start and (loop is None or step.place is loop or loop not in step.place.around())
                )
            case "continue":
                return False
