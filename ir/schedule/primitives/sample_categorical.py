"""`sample_categorical`: choose one of several numbers at random."""

from __future__ import annotations

from ..analysis.tiling import wrong_decision
from ..arguments import Integer, Integers, Numbers
from ..conditions import ARGUMENT
from ..declaration import primitive
from ..program import Program


@primitive(results=("choice",), query=True)
def sample_categorical(program: Program, candidates: Integers, probs: Numbers, decision: Integer | None = None) -> int:
    """Choose one of `candidates` at random, with the probabilities `probs`. `decision`, the index of a candidate,
    repeats an earlier choice.

    Preserves: everything; the choice is part of the trace.
    """
    if len(candidates) != len(probs):
        reason = f"got {len(candidates)} candidates and {len(probs)} probabilities"
        raise ARGUMENT.refuse(reason, argument="probs", help="give one for each candidate")
    if any(prob < 0 for prob in probs) or not sum(probs) > 0:
        help = "give numbers that are not negative, and not all 0"
        raise ARGUMENT.refuse(f"{list(probs)} are not valid probabilities", argument="probs", help=help)
    if decision is None:
        decision = program.random.weighted(probs)
    if not 0 <= decision < len(candidates):
        raise wrong_decision(f"an index from 0 to {len(candidates) - 1}", decision)
    program.decision = decision
    return candidates[decision]
