"""Desire (sections 3.3 and 4.3): which suit may hold the pair of the hand to be won.

S = 4 suits of the paper.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from agents.bdi import take_out
from agents.bdi.belief import Belief
from agents.bdi.take_out import TakeOut
from mjx.tiles import NUM_SUITS

Array = jax.Array

NO_GOAL = -1
_SUITS = np.arange(NUM_SUITS, dtype=np.int32)
_DROPPED = np.int32(10_000)  # further than any goal is


class Goals(NamedTuple):
    """The goal set and the goal that was chosen from it."""

    bits: Array  # uint8[]  bit i: still trying to win with the pair in suit i
    distances: TakeOut  # int32[S]  pwin_i
    chosen: Array  # int32[]  the suit, `NO_GOAL` where every goal was dropped


def distances(belief: Belief) -> TakeOut:
    """Adds up what each goal still takes (section 3.3): `pwin_i = padd - p_i + p_i'`, int32[S]."""
    without, with_pair = belief.states.kept.need, belief.states.kept_with_pair.need
    padd = jax.tree.map(lambda x: jnp.broadcast_to(jnp.sum(x), x.shape), without)
    return take_out.add(take_out.subtract(padd, without), with_pair)


def goal_set(belief: Belief, far: TakeOut, temper: float, empty_goals: bool) -> Array:
    """Sets the bits of the goals that are still pursued (section 3.3): uint8[].

    Args:
      belief: of the robot.
      far: what each goal still takes, int32[S].
      temper: below 0, goals with `-temper * (out + take)` above the draws left are dropped.
      empty_goals: whether suits without a tile may hold the pair, as the paper has it if taken
        at its word.
    """
    is_set = jnp.full(NUM_SUITS, True) if empty_goals else belief.states.tiles > 0
    if temper < 0:
        steps = (-temper * take_out.cost(far, 1)).astype(jnp.float32)
        is_set = is_set & (steps <= belief.memory.draws_left.astype(jnp.float32))
    return jnp.sum(jnp.where(is_set, 1 << _SUITS, 0)).astype(jnp.uint8)


def choose(bits: Array, far: TakeOut, weight: int = 1) -> Array:
    """Chooses the goal with the least `out + weight * take` (section 4.3, the filter): int32[].

    Ties go to the lowest suit; `NO_GOAL` where no bit is set.
    """
    is_set = bits.astype(jnp.int32) >> _SUITS & 1 > 0
    costs = jnp.where(is_set, take_out.cost(far, weight), _DROPPED)
    return jnp.where(bits > 0, jnp.argmin(costs).astype(jnp.int32), NO_GOAL)
