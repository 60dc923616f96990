"""What the seat that acts next may do, by every rule of the table.

P = 4 seats, S = 4 suits.
"""

import dataclasses
from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np

from mjx import actions, claims, packed, ready, score, tiles
from mjx import state as st
from mjx.rules import Rules
from mjx.seats import NUM_SEATS, Words
from mjx.state import State

Array = jax.Array

WIN_BIT = actions.WIN - actions.CHOW_LOW  # in the word of the calls
_NOTHING, _EVERYTHING = np.uint32(0), np.uint32(0xFFFFFFFF)


def legal_words(state: State, rules: Rules) -> Words:
    """Lists what `current_player` may do, as five words; everything once the hand is over."""
    seat = state.current_player
    own, sets = state.hands.row(seat), state.sets.row(seat)
    has_drawn = state.drawn >= 0  # not after a chow or a pong, nor while others are asked
    is_asked = state.queue != 0
    wall_allows = st.may_kong(state, seat, rules)
    may_kong = has_drawn & wall_allows
    discards = [packed.at_least(word, 1) for word in own]
    fours = [packed.at_least(word, 4) for word in own]
    adds = [held & melded for held, melded in zip(discards, sets, strict=True)]  # bit of PONG
    if state.barred is not None:
        for kind in state.barred:
            discards = [d & ~marks for d, marks in zip(discards, _marks(kind), strict=True)]
    if rules.asks_ready:
        is_ready = claims.is_declared(state.ready, seat)
        discards = _where(is_ready, _marks(state.drawn), discards)
        fours = _where(is_ready, ready.kongs_that_keep(state, own, rules), fours)
        adds = [jnp.where(is_ready, _NOTHING, added) for added in adds]
    words = []
    for held, four, added in zip(discards, fours, adds, strict=True):
        turn = held | jnp.where(may_kong, (four << 1) | (added << 2), _NOTHING)
        words.append(jnp.where(is_asked, _NOTHING, turn))

    may_win = has_drawn & _may_win_drawn(state, rules)
    win = jnp.where(may_win, np.uint32(1 << WIN_BIT), _NOTHING)
    kind = jnp.maximum(state.pending, 0)
    if rules.forbid_upstream_kong:
        wall_allows &= seat != (state.actor + 1) % NUM_SEATS
    calls = claims.answers(state.queue, own, kind, wall_allows, rules)
    words.append(jnp.where(is_asked, calls, win))
    return tuple(jnp.where(state.terminated, _EVERYTHING, word) for word in words)


def _may_win_drawn(state: State, rules: Rules) -> Array:
    """Tells whether `current_player` may win with the tile it has drawn: bool[]."""
    seat = state.current_player
    may_win = packed.is_in(state.waits.row(seat), state.drawn)
    if rules.guoshui != "ron_only":
        may_win &= (state.locked >> seat.astype(jnp.uint32)) & 1 == 0
    if state.win_barred is not None:
        may_win &= ~state.win_barred
    if rules.min_tai > 0:
        yes, no = jnp.bool_(True), jnp.bool_(False)
        may_win &= has_tai(state, seat, state.drawn, yes, no, rules)
    return may_win


def short_of_tai(state: State, kind: Array, robbed: Array, rules: Rules) -> Array:
    """Finds the seats whose win on another's tile would have too few tai: uint32[], bit = seat."""

    def is_enough(seat: Array) -> Array:
        return has_tai(state, seat, kind, jnp.bool_(False), robbed, rules)

    enough = jax.vmap(is_enough)(jnp.arange(NUM_SEATS, dtype=jnp.int32))
    bits = jnp.where(enough, _NOTHING, np.uint32(1) << np.arange(NUM_SEATS, dtype=np.uint32))
    return jnp.sum(bits, dtype=jnp.uint32)


def has_tai(
    state: State, seat: Array, kind: Array, self_draw: Array, robbed: Array, rules: Rules
) -> Array:
    """Tells whether a complete hand has the tai that a win needs, before any cap: bool[]."""
    win = score.win_if(state, seat, kind, self_draw, robbed, rules)
    return score.total(win, dataclasses.replace(rules, tai_cap=None)) >= rules.min_tai


def _marks(kind: Array) -> list[Array]:
    """Marks one kind, none for -1: four words."""
    suit, mark = packed.suit_of(kind), packed.tile(kind)
    return [jnp.where(suit == s, mark, _NOTHING) for s in range(tiles.NUM_SUITS)]


def _where(cond: Array, yes: Sequence[Array], no: Sequence[Array]) -> list[Array]:
    """Chooses between words."""
    return [jnp.where(cond, one, other) for one, other in zip(yes, no, strict=True)]
