"""Who pays what for a win, and the points of a finished state.

P = 4 seats. W = winners: an axis of three where `rules.multi_ron`, of none elsewhere.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from mjx.rules import Rules
from mjx.score.tai import total
from mjx.score.win import Win, has_special_endings, win_of
from mjx.seats import NUM_SEATS
from mjx.state import (
    EIGHT_FLOWERS,
    EIGHTH_FLOWER_ROBBED,
    FOUR_KONGS,
    ON_DISCARD,
    ROBBED_KONG,
    SELF_DRAW,
    State,
)

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


class Result(NamedTuple):
    """What a finished hand is settled by, kept where the state itself is not."""

    win: Win  # [W, ...]    means nothing without a winner
    is_won: Array  # bool[]      by somebody
    winner: Array  # int32[W]    -1 without one
    payer: Array  # int32[]     the seat that pays, or `ALL_PAY`
    dealer: Array  # int32[]
    streak: Array  # int32[]


def result_of(state: State, rules: Rules) -> Result:
    """Reads off a state what its settlement needs; of a running hand nobody has won."""
    is_claimed = (state.ending == ON_DISCARD) | (state.ending == ROBBED_KONG)
    all_pay = state.ending == SELF_DRAW
    is_won = all_pay | is_claimed
    if has_special_endings(rules):
        all_pay |= (state.ending == FOUR_KONGS) | (state.ending == EIGHT_FLOWERS)
        is_won |= all_pay | (state.ending == EIGHTH_FLOWER_ROBBED)
    if state.winners is None:
        winner, win = state.winner, win_of(state, rules)
    else:
        winner = _winners(state, state.winners, is_claimed)
        win = jax.vmap(lambda seat: win_of(state.replace(winner=seat), rules))(winner)
    return Result(
        win=win,
        is_won=is_won,
        winner=winner,
        payer=jnp.where(all_pay, ALL_PAY, state.actor),
        dealer=state.dealer,
        streak=state.streak,
    )


def points(result: Result, rules: Rules) -> Array:
    """Computes the points of a result: float32[P] by seat; zeros unless somebody has won."""

    def of_winner(win: Win, winner: Array) -> Array:
        return payments(
            total(win, rules), winner, result.payer, result.dealer, result.streak, rules
        )

    if rules.multi_ron:
        paid = jax.vmap(of_winner)(result.win, result.winner)
        has_won = jnp.broadcast_to(result.winner[:, None] >= 0, paid.shape)
        paid = jnp.sum(jnp.where(has_won, paid, 0), axis=0, dtype=jnp.int32)
    else:
        paid = of_winner(result.win, result.winner)
    return jnp.where(result.is_won, paid, 0).astype(jnp.float32)


def settle(state: State, rules: Rules) -> Array:
    """Computes the points of a state: float32[P] by seat; zeros unless somebody has won."""
    return points(result_of(state, rules), rules)


def _winners(state: State, winners: Array, is_claimed: Array) -> Array:
    """Lists all who won, in turn order from who gave the tile, -1 for the others: int32[W]."""
    places = np.arange(NUM_SEATS - 1, dtype=np.int32)
    seats = (state.actor + 1 + places) % NUM_SEATS
    has_won = (winners >> seats.astype(jnp.uint32)) & 1 > 0
    alone = jnp.where(places == 0, state.winner, -1)
    return jnp.where(is_claimed, jnp.where(has_won, seats, -1), alone)
