"""The moves that a search looks at: all legal ones, or of each group the one that costs least.

Moves of a group differ in their kickers only. What kickers cost is the sum of their ranks, and
20 more for each rank of which the hand keeps some, since that breaks a pair or more. K = places,
G = groups, R = ranks.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np

from doudizhu import legal
from doudizhu.cards import NUM_RANKS
from doudizhu.moves import NUM_MOVES, all_moves
from doudizhu.rules import DEFAULT, Rules
from doudizhu.tables import NUM_GROUPS
from mjx.stage import stage

Array = jax.Array

MAX_GROUPS = 128  # a hand of 20 cards was never seen to have more than 73
BREAKING = 20
_ID_BITS = 15
_NEVER = np.int32(np.iinfo(np.int32).max)


def candidates(
    hand: Array, to_beat: Array, is_grouped: bool, rules: Rules = DEFAULT
) -> tuple[Array, Array]:
    """Lists moves of a hand.

    Args:
      hand: int8[R] cards held.
      to_beat: int32[] the move to beat, or PASS for a lead.
      is_grouped: whether one move of each group stands for all of it.
      rules: the table's rules.

    Returns:
      int32[K] ids in ascending order, -1 where there are no more, and int32[] their number; K is
      `MAX_GROUPS` or `legal.MAX_LEGAL`.
    """
    words = stage(lambda h, t: legal.words_of(h, t, rules), hand, to_beat)
    ids, num = stage(legal.list_words, words)
    return stage(_cheapest, hand, ids) if is_grouped else (ids, num)


def _cheapest(hand: Array, ids: Array) -> tuple[Array, Array]:
    """Keeps of each group the cheapest move, the first of several: as `candidates`."""
    table = _kicker_table()
    is_there = ids >= 0
    move = jnp.maximum(ids, 0)
    kickers = jnp.asarray(table)[move]
    is_broken = (kickers > 0) & (jnp.asarray(all_moves().counts)[move] < hand[None, :])
    ranks = np.arange(NUM_RANKS, dtype=np.int32)[None, :]
    cost = jnp.sum(kickers * ranks + BREAKING * is_broken, axis=1, dtype=jnp.int32)
    group = jnp.asarray(all_moves().group).astype(jnp.int32)[move]
    cost_and_id = jnp.where(is_there, (cost << _ID_BITS) + move, _NEVER)
    best = jnp.full(NUM_GROUPS, _NEVER, jnp.int32).at[group].min(cost_and_id)
    has_one = best < _NEVER
    place = jnp.where(has_one, jnp.cumsum(has_one) - 1, MAX_GROUPS)
    found = jnp.full(MAX_GROUPS, -1, jnp.int32)
    found = found.at[place].set(best & ((1 << _ID_BITS) - 1), mode="drop")
    return found, jnp.sum(has_one, dtype=jnp.int32)


@functools.cache
def _kicker_table() -> np.ndarray:
    """Counts the kickers of all moves: int8[A, R]."""
    moves = all_moves()
    assert NUM_MOVES < 1 << _ID_BITS
    main = np.array([group.main for group in moves.groups], np.int8)
    return moves.counts - main[moves.group]
