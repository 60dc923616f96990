"""What only training knows: all hands and the wall, as numbers for the critic.

Seats are counted from the one that decides. B = states, P = 4 seats, T = 34 kinds, W = tiles ahead
in the wall, F = `SIZE`.
"""

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from agents.reading import labels
from mjx import draws, packed, score
from mjx import state as st
from mjx.rules import Rules
from mjx.seats import NUM_SEATS
from mjx.state import State
from mjx.tiles import NUM_KINDS

Array = jax.Array

_AHEAD = 56  # plain draws of a hand, at most
_STEPS = 6  # tiles missing that are told apart
_EACH = _STEPS + 9 + NUM_SEATS  # numbers of a seat
SIZE = NUM_SEATS * _EACH + 3 * NUM_SEATS + 3
_SEATS = np.arange(NUM_SEATS, dtype=np.int32)
_PLACES = np.arange(_AHEAD, dtype=np.int32)
_MEAN_TAI = 1  # of a win that is dealt into
POINTS = np.float32(1000)  # in which all is counted here


class Truth(NamedTuple):
    """The truth about decisions. Leading axis B."""

    told: Array  # float32[F]  for the critic
    cost: Array  # float32[T]  thousands of points paid for a discard on which somebody wins; else 0
    deals_in: Array  # bool[T]     somebody wins on this discard


def truth_of(state: State, rules: Rules) -> Truth:
    """Tells the truth about states, leading axis B, from the seat that decides."""
    size, us = len(state.current_player), state.current_player
    seats = (us[:, None] + _SEATS[None]) % NUM_SEATS
    hands, chows, sets = (
        jnp.take_along_axis(field.to_array(), seats[..., None], axis=1)
        for field in (state.hands, state.chows, state.sets)
    )
    melds = st.num_melds(chows, sets)
    rests = draws.none(hands.reshape(-1, hands.shape[-1]), melds.reshape(-1))
    lacks = rests.deficiency.reshape(size, NUM_SEATS)
    accepts = rests.accepting.T.reshape(size, NUM_SEATS, NUM_KINDS)
    numbers = jax.vmap(functools.partial(_numbers, rules=rules))
    told = numbers(state, packed.to_counts(hands), melds, lacks, accepts)
    wins = jax.vmap(labels.wins_of)(state, us)
    cost = jax.vmap(lambda one, wins: _cost(one, wins, rules))(state, wins)
    return Truth(told, cost, jnp.any(wins, axis=1))


def _numbers(
    state: State, counts: Array, melds: Array, lacks: Array, accepts: Array, rules: Rules
) -> Array:
    """Lists the numbers of one state: float32[F]."""
    place = state.head + _PLACES
    is_drawn = place <= state.tail - rules.reserve
    kinds = state.wall[jnp.minimum(place, len(state.wall) - 1)].astype(jnp.int32)
    helps = accepts[:, kinds] & is_drawn[None]  # [P,W]
    own = helps & ((_PLACES + 1) % NUM_SEATS == _SEATS[:, None])
    again = own & (jnp.cumsum(own, axis=-1, dtype=jnp.int32) >= 2)
    left = jnp.sum(is_drawn, dtype=jnp.int32).astype(jnp.float32)

    def first(marks: Array) -> Array:
        found = jnp.argmax(marks, axis=-1).astype(jnp.int32)
        return jnp.where(jnp.any(marks, axis=-1), found, _AHEAD).astype(jnp.float32)

    def number(marks: Array) -> Array:
        return jnp.sum(marks, axis=-1, dtype=jnp.int32).astype(jnp.float32)

    anyone, ours = first(helps), first(own)
    of_seat = [
        jnp.exp(-anyone / 6),
        jnp.exp(-ours / 6),
        jnp.exp(-first(again) / 6),
        anyone / _AHEAD,
        ours / _AHEAD,
        number(helps) / 16,
        number(own) / 8,
        4 * number(helps) / jnp.maximum(left, 1),
        melds / 5,
    ]
    steps = jnp.clip(lacks, 0, _STEPS - 1)[:, None] == np.arange(_STEPS)[None]
    fed = accepts.astype(jnp.float32) @ counts.T.astype(jnp.float32)  # by each hand
    each = [steps.astype(jnp.float32), jnp.stack(of_seat, axis=-1), fed / 8]
    soonest = jnp.where(lacks == 1, anyone, _AHEAD + 8 * lacks.astype(jnp.float32))
    dealer = (state.dealer - state.current_player) % NUM_SEATS
    late = left / _AHEAD
    table = [
        (jnp.argmin(soonest) == _SEATS).astype(jnp.float32),
        (dealer == _SEATS).astype(jnp.float32),
        jnp.stack([late, late**2, state.streak.astype(jnp.float32) / 3]),
        jnp.exp(-soonest / 8),
    ]
    return jnp.concatenate([jnp.concatenate(each, axis=-1).reshape(-1), *table])


def _cost(state: State, wins: Array, rules: Rules) -> Array:
    """Prices the discards of one state, wins bool[O, T]: float32[T]; the tai are a mean."""
    dealer = (state.dealer - state.current_player) % NUM_SEATS

    def price(winner: Array) -> Array:
        paid = score.payments(
            jnp.int32(_MEAN_TAI), winner, jnp.int32(0), dealer, state.streak, rules
        )
        return -paid[0].astype(jnp.float32)

    prices = jax.vmap(price)(jnp.asarray(_SEATS[1:]))
    before = jnp.cumsum(wins, axis=0, dtype=jnp.int32) - wins  # who is nearer wins alone (攔胡)
    return jnp.sum(jnp.where(wins & (before == 0), prices[:, None], 0), axis=0) / POINTS
