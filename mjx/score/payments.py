"""Who pays what for a win, and the points of a finished state.

P = 4 seats.
"""

import jax
import jax.numpy as jnp
import numpy as np

from mjx.rules import Rules
from mjx.score.tai import total
from mjx.score.win import win_of
from mjx.state import NUM_SEATS, ON_DISCARD, ROBBED_KONG, SELF_DRAW, State

Array = jax.Array

_SEATS = np.arange(NUM_SEATS, dtype=np.int32)
ALL_PAY = -1


def payments(
    tai_total: Array, winner: Array, payer: Array, dealer: Array, streak: Array, rules: Rules
) -> Array:
    """Settles one win; the dealer and the streak (連莊拉莊) count both ways.

    Args:
      tai_total: int32[] tai of the hand, without the dealer's.
      winner: int32[] the winning seat.
      payer: int32[] the seat that pays, or `ALL_PAY`: the other three do.
      dealer: int32[] the dealer's seat.
      streak: int32[] hands that the dealer has held on.
      rules: the options.

    Returns:
      int32[P] points by seat; they sum to zero.
    """
    if rules.streak_cap is not None:
        streak = jnp.minimum(streak, rules.streak_cap)
    pays = (winner != _SEATS) & ((payer == ALL_PAY) | (payer == _SEATS))
    has_dealer = (winner == dealer) | (dealer == _SEATS)
    due = tai_total + jnp.where(has_dealer, 1 + 2 * streak, 0)
    paid = jnp.where(pays, rules.base + rules.unit * due, 0)
    won = jnp.where(winner == _SEATS, jnp.sum(paid, dtype=jnp.int32), 0)
    return (won - paid).astype(jnp.int32)


def settle(state: State, rules: Rules) -> Array:
    """Computes the points of a finished state.

    Args:
      state: any state.
      rules: the options.

    Returns:
      float32[P] points by seat; zeros unless somebody has won.
    """
    is_self_drawn = state.ending == SELF_DRAW
    is_won = is_self_drawn | (state.ending == ON_DISCARD) | (state.ending == ROBBED_KONG)
    payer = jnp.where(is_self_drawn, ALL_PAY, state.actor)
    tai_total = total(win_of(state, rules), rules)
    points = payments(tai_total, state.winner, payer, state.dealer, state.streak, rules)
    return jnp.where(is_won, points, 0).astype(jnp.float32)
