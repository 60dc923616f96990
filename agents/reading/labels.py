"""What the opponents really wait for: the hidden hands, which only training sees.

O = 3 opponents in turn order from the observer, T = 34 kinds, B = states.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from agents.reading.features import NUM_KINDS, NUM_OPPONENTS
from agents.worklist import map_where
from mjx import packed, score
from mjx.rules import DEFAULT, Rules
from mjx.seats import NUM_SEATS
from mjx.state import State

Array = jax.Array

_BLOCK = 128
_PAIRS = NUM_OPPONENTS * NUM_KINDS


class Labels(NamedTuple):
    """The truth about a table, seen from one seat."""

    wins: Array  # bool[B,O,T]  would win if the observer discarded it now
    tai: Array  # int32[B,O,T]  of that win, without the dealer's; 0 where there is none


def labels_of(states: State, seats: Array, rules: Rules = DEFAULT) -> Labels:
    """Looks into the opponents' hands.

    Args:
      states: running hands, leading axis B.
      seats: int32[B] observers.
      rules: the table's rules.

    Returns:
      The labels. A locked seat (過水) wins on nothing. Whoever must yield to another who wins
      first (攔胡) counts all the same.
    """
    wins = jax.vmap(wins_of)(states, seats)

    def tai(lanes: Array) -> Array:
        row, pair = lanes // _PAIRS, lanes % _PAIRS
        opponent, kind = pair // NUM_KINDS, pair % NUM_KINDS
        seat = (seats[row] + 1 + opponent) % NUM_SEATS
        here = jax.tree.map(lambda x: x[row], states)

        def one(state: State, seat: Array, kind: Array) -> Array:
            return score.total(score.win_if(state, seat, kind, False, False, rules), rules)

        return jax.vmap(one)(here, seat, kind)

    lanes = jnp.arange(wins.size, dtype=jnp.int32)
    found = map_where(tai, wins.reshape(-1), lanes, _BLOCK)
    return Labels(wins, found.reshape(wins.shape))


def wins_of(state: State, seat: Array) -> Array:
    """Marks what each opponent of a seat would win on: bool[O, T]."""
    seats = (seat + np.arange(1, NUM_SEATS, dtype=np.int32)) % NUM_SEATS
    waits = jax.vmap(packed.kinds_to_bools)(state.waits.to_array()[seats])
    locked = (state.locked >> seats.astype(jnp.uint32)) & 1 > 0
    return waits & ~locked[:, None]
