"""Declaring oneself ready (報聽): who is asked, and what a declared seat may still do.

天聽 is declared after the deal, by any seat but the dealer; 地聽 with the first discard, if nobody
has claimed a tile. S = 4 suits.
"""

import functools
import operator

import jax
import jax.numpy as jnp
import numpy as np

from mjx import claims, hand, packed
from mjx import state as st
from mjx.rules import Rules
from mjx.seats import NUM_SEATS, Words
from mjx.state import State

Array = jax.Array

_NOTHING = np.uint32(0)
_OPEN_SETS = packed.MARKS * np.uint32(st.PONG | st.KONG)
_LAST_PLACE = NUM_SEATS - 1  # of the questions, that of the actor itself
_MOST_FOURS = 4  # kinds held four times in seventeen tiles


def ask_after_deal(state: State) -> State:
    """Puts the questions about 天聽 to those who wait for a tile, before the dealer acts."""
    queue = jnp.uint32(0)
    for seat, waits in enumerate(state.waits.rows):
        place = (seat - 1 - state.dealer) % NUM_SEATS
        asks = (_joined(waits) > 0) & (place != _LAST_PLACE) & ~state.terminated
        queue = queue | (asks.astype(jnp.uint32) << place.astype(jnp.uint32))
    words = state.hands.column(jnp.int32(0))  # of no use to these questions
    asked = claims.asked_seat(queue, words, state.actor, jnp.int32(0), state.ready)
    return state.replace(
        queue=queue, current_player=jnp.where(queue > 0, asked, state.current_player)
    )


def question_after_discard(state: State, seat: Array, own: Words) -> Array:
    """Queues the question about 地聽 to a seat that discards: uint32[].

    While nothing is claimed turns go round strictly, so the number of discards says whose first
    one it is.

    Args:
      state: the table before the discard, but with the waits after it.
      seat: int32[] who discards.
      own: its concealed tiles after the discard, four words.
    """
    rows = (state.waits.row(seat), own, state.chows.row(seat), state.sets.row(seat))
    waits = list(map(hand.live_waits, *rows))
    open_sets = state.sets.map(lambda p, s, word: word & _OPEN_SETS)
    no_claims = (state.chows.any_bits() | open_sets.any_bits()) == 0
    is_first = state.num_discards == (seat - state.dealer) % NUM_SEATS
    asks = no_claims & is_first & (_joined(waits) > 0) & ~claims.is_declared(state.ready, seat)
    return jnp.where(asks, np.uint32(1 << _LAST_PLACE), _NOTHING)


def declaration(state: State, declares: Array) -> Array:
    """Gives the bit of `State.ready` that `current_player` sets: uint32[].

    Args:
      state: the table when it is asked.
      declares: bool[] whether it declares itself ready.
    """
    after_deal = state.drawn >= 0  # the dealer's last tile
    bit = state.current_player + jnp.where(after_deal, 0, NUM_SEATS)
    return declares.astype(jnp.uint32) << bit.astype(jnp.uint32)


def kongs_that_keep(state: State, own: Words, rules: Rules) -> Words:
    """Marks the kinds whose concealed kong leaves the waits of `current_player` as they are.

    Args:
      state: the table when this seat has drawn.
      own: its concealed tiles with the one drawn, four words.
      rules: the options.

    Returns:
      Marks of kinds held four times, four words.
    """
    seat = state.current_player
    chows, sets = state.chows.row(seat), state.sets.row(seat)
    drawn, unit = packed.suit_of(state.drawn), packed.tile(jnp.maximum(state.drawn, 0))
    at_rest = [w - jnp.where(drawn == s, unit, _NOTHING) for s, w in enumerate(own)]
    before = list(map(hand.live_waits, state.waits.row(seat), at_rest, chows, sets))
    left = [packed.at_least(word, 4) for word in own]
    kept = [jnp.uint32(0)] * len(own)
    for _ in range(_MOST_FOURS):
        kong, is_found = [], jnp.bool_(False)  # the first kind left, a mark in its suit
        for marks in left:
            kong.append(jnp.where(is_found, _NOTHING, marks & (~marks + 1)))
            is_found |= marks > 0
        after = [word - 4 * mark for word, mark in zip(own, kong, strict=True)]
        laid = [word + st.CONCEALED_KONG * mark for word, mark in zip(sets, kong, strict=True)]
        waits = hand.waits_of_words(after, rules.ligu > 0)
        waits = map(hand.live_waits, waits, after, chows, laid)
        changed = _joined([old ^ new for old, new in zip(before, waits, strict=True)])
        kept = [
            old | jnp.where(changed == 0, k, _NOTHING) for old, k in zip(kept, kong, strict=True)
        ]
        left = [marks & ~mark for marks, mark in zip(left, kong, strict=True)]
    return tuple(kept)


def _joined(words: Words | list[Array]) -> Array:
    """Joins the bits of a few words: uint32[]."""
    return functools.reduce(operator.or_, words)
