"""Intention (sections 3.5 and 4.4): what to throw and what to obtain. S = 4 suits of the paper."""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from agents.bdi import belief as beliefs
from agents.bdi import rearrange
from agents.bdi.belief import Belief
from agents.bdi.rearrange import Rearranged
from mjx.packed import MARKS
from mjx.tiles import NUM_SUITS

Array = jax.Array

_SAFEST = 4096  # urgency of what completes nothing, for a robot without a goal


class Intentions(NamedTuple):
    """The intention set."""

    throw: Array  # uint32[S]  tiles that are to leave
    take: Array  # int32[S]  how many tiles are to be obtained
    wanted: Array  # uint32[S]  marks of the ranks that would be such a tile
    urgency: Array  # int32[S,9]  which tile goes first: the highest


def decompose(belief: Belief, chosen: Array) -> Intentions:
    """Breaks the chosen goal up into throws and takes (section 4.4).

    Args:
      belief: of the robot.
      chosen: int32[] suit of the pair, or `NO_GOAL`: then nothing is wanted any more, and the
        tile that can complete the least of the unseen tiles goes first.
    """
    kept = arrangement(belief, chosen)
    suits = jnp.arange(NUM_SUITS, dtype=jnp.int32)
    urgency = jax.vmap(rearrange.urgency)(kept, belief.memory.unseen, suits)
    # One tile set aside has the lowest bit of its rank, two have the next.
    second = jnp.where(suits == chosen, belief.states.pair, 0) & MARKS
    wanted = (rearrange.completing(kept) | second) & belief.memory.obtainable
    has_goal = chosen >= 0
    safety = _SAFEST - beliefs.danger(belief.memory)
    return Intentions(
        throw=jnp.where(has_goal, rearrange.thrown(kept), 0),
        take=jnp.where(has_goal, kept.need.take, 0),
        wanted=jnp.where(has_goal, wanted, 0),
        urgency=jnp.where(has_goal, urgency, safety),
    )


def arrangement(belief: Belief, chosen: Array) -> Rearranged:
    """Returns `Ar'` of the chosen suit and `Ar` of the others: leading axis S."""
    is_pair = jnp.arange(NUM_SUITS, dtype=jnp.int32) == chosen
    return jax.tree.map(
        lambda a, b: jnp.where(is_pair, a, b), belief.states.kept_with_pair, belief.states.kept
    )
