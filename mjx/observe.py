"""What a seat may know: plain arrays, seen from the seat itself.

P = 4 seats counted from the observer (0 self, 1 the next to play), T = 34 kinds, H = discards
in order.
"""

import jax
import jax.numpy as jnp
import numpy as np
from flax import struct

from mjx import claims, packed, tiles
from mjx import state as st
from mjx.checks import check_numbers, check_rules
from mjx.rules import DEFAULT, Rules
from mjx.seats import NUM_SEATS
from mjx.state import State
from mjx.tiles import NUM_KINDS

Array = jax.Array


class Observation(struct.PyTreeNode):
    """All that one seat may see and remember, and nothing else."""

    hand: Array  # int8[T]      own concealed tiles, with the one just drawn
    drawn: Array  # int32[]      kind just drawn in own turn, else -1
    chows: Array  # int8[P,T]    chows laid down, counted at their lowest tile
    pongs: Array  # bool[P,T]
    kongs: Array  # bool[P,T]    open and added
    concealed_kongs: Array  # bool[P,T]    the others' not where the rules hide them
    discards: Array  # int8[P,T]    that lie on the table (a claimed one lies in its meld)
    unseen: Array  # int8[T]      copies in the wall, in hidden hands, in hidden kongs
    num_concealed: Array  # int32[P]     tiles in each hand
    history_kind: Array  # int8[H]      every discard in order, -1 where none yet
    history_seat: Array  # int8[H]      by whom
    history_drawn: Array  # bool[H]      it was the kind just drawn
    history_claimed: Array  # bool[H]      for a chow, pong or open kong
    pending: Array  # int32[]      kind that we are asked about, else -1
    pending_seat: Array  # int32[]      who discarded or konged it, else -1
    robbing: Array  # bool[]       the question is about robbing an added kong
    current_player: Array  # int32[]      0: it is our decision; -1: another seat is asked
    replacement: Array  # int32[]      0 plain draw, 1 after an own kong, 2 an open one, 3 a flower
    locked: Array  # bool[]       過水: we may not win for now
    drawable: Array  # int32[]      tiles that may still be drawn
    seat_wind: Array  # int32[]      0-3 for E S W N
    round_wind: Array  # int32[]
    dealer: Array  # int32[]      seat of the dealer
    streak: Array  # int32[]
    legal_action_mask: Array  # bool[A]      ours; all false while another seat decides
    # None where the rules do without:
    ready: Array | None = None  # int8[P]      declared ready: 0 not, 1 at the deal, 2 at a discard

    # None where the rules do without.
    flowers: Array | None = None  # bool[P,8]    exposed flowers 1-8
    first_dealer: Array | None = None  # int32[]      seat that dealt the first hand of the match
    scores: Array | None = None  # int32[P]     points of the match so far


def observe(state: State, seat: int | Array, rules: Rules = DEFAULT) -> Observation:
    """Shows a state to one seat.

    Args:
      state: one hand.
      seat: int32[] observer, 0-3.
      rules: the table's rules.

    Returns:
      The observation. The drawn tile and the replacement flag are shown to their owner only, and
      a question to the seat asked: that it is asked gives away what a hand holds. A seat asked
      whether it declares itself ready is asked about no tile.

    Raises:
      ValueError: a state dealt by other rules, or a seat out of range where it is known.
    """
    check_rules(state, rules)
    check_numbers(seat=seat)
    seat = jnp.asarray(seat, jnp.int32)

    def turned(field: Array) -> Array:
        return jnp.roll(field, -seat, axis=0)

    def from_us(other: Array) -> Array:
        return jnp.where(other < 0, -1, (other - seat) % NUM_SEATS)

    hands = packed.to_counts(turned(state.hands.to_array()))
    sets = packed.to_counts(turned(state.sets.to_array()))
    chows = packed.to_counts(turned(state.chows.to_array()))
    pongs, kongs, concealed = (sets == form for form in (st.PONG, st.KONG, st.CONCEALED_KONG))
    if not rules.concealed_kong_shown:
        concealed = concealed & (np.arange(NUM_SEATS) == 0)[:, None]
    said = state.num_discards > np.arange(state.history.shape[-1])
    history = state.history.astype(jnp.int32)
    thrown = history & st.HISTORY_KIND
    thrower = ((history >> st.HISTORY_SEAT_SHIFT) - seat) % NUM_SEATS
    claimed = said & (history & st.HISTORY_CLAIMED > 0)
    discards = _count_discards(thrown, thrower, said & ~claimed)
    melded = tiles_in_melds(chows, pongs, kongs, concealed)
    visible = hands[0] + jnp.sum(melded + discards, axis=0, dtype=jnp.int8)
    is_ours = state.current_player == seat
    is_shown = is_ours | (state.queue == 0)
    is_about_tile, has_drawn, ready = is_shown, is_ours, None
    if rules.asks_ready and state.ready is not None:
        ready = turned(st.declared(state.ready, jnp.arange(NUM_SEATS)).astype(jnp.int8))
        lowest = claims.lowest_question(state.queue)
        is_about_tile &= (lowest == 0) | (lowest > claims.READY_QUESTIONS)
        has_drawn &= state.queue == 0  # the dealer's tile lies there while others are asked
    konged = state.robbing | (state.ending == st.ROBBED_KONG)  # it lies on the table, in no meld
    konging = konged & (np.arange(NUM_KINDS) == state.pending)
    return Observation(
        hand=hands[0],
        drawn=jnp.where(has_drawn, state.drawn, -1),
        chows=chows,
        pongs=pongs,
        kongs=kongs,
        concealed_kongs=concealed,
        discards=discards,
        unseen=4 - visible - konging.astype(jnp.int8),
        num_concealed=jnp.sum(hands, axis=-1, dtype=jnp.int32),
        history_kind=jnp.where(said, thrown, -1).astype(jnp.int8),
        history_seat=jnp.where(said, thrower, -1).astype(jnp.int8),
        history_drawn=said & (history & st.HISTORY_DRAWN > 0),
        history_claimed=claimed,
        pending=jnp.where(is_about_tile, state.pending, -1),
        pending_seat=jnp.where(is_about_tile & (state.pending >= 0), from_us(state.actor), -1),
        robbing=state.robbing & is_shown,
        current_player=jnp.where(is_shown, from_us(state.current_player), -1),
        replacement=jnp.where(has_drawn, state.replacement, st.PLAIN_DRAW),
        locked=(state.locked >> seat.astype(jnp.uint32)) & 1 > 0,
        drawable=st.drawable(state, rules),
        seat_wind=st.seat_wind(state, seat, rules),
        round_wind=state.round_wind,
        dealer=from_us(state.dealer),
        streak=state.streak,
        legal_action_mask=state.legal_action_mask & is_ours,
        flowers=None if state.flowers is None else turned(_flowers_by_seat(state.flowers)),
        first_dealer=None if state.first_dealer is None else from_us(state.first_dealer),
        scores=None if state.scores is None else turned(state.scores),
        ready=ready,
    )


def tiles_in_melds(chows: Array, pongs: Array, kongs: Array, concealed_kongs: Array) -> Array:
    """Counts the tiles in melds of any seats: int8[..., T] from int8 and bool [..., T]."""
    shifted = [jnp.roll(chows, by, axis=-1) for by in range(3)]  # no chow starts at rank 8 or 9
    return (
        sum(shifted) + 3 * pongs.astype(jnp.int8) + 4 * (kongs | concealed_kongs).astype(jnp.int8)
    )


def _flowers_by_seat(exposed: Array) -> Array:
    """Unpacks the exposed flowers uint32[]: bool[P, 8]."""
    bits = np.arange(NUM_SEATS * tiles.NUM_FLOWERS, dtype=np.uint32)
    return (exposed >> bits & 1 > 0).reshape(NUM_SEATS, tiles.NUM_FLOWERS)


def _count_discards(kinds: Array, seats: Array, lies: Array) -> Array:
    """Counts the discards that lie on the table, int8[P, T], from the history's int32[H]."""
    size = NUM_SEATS * NUM_KINDS
    place = jnp.where(lies, NUM_KINDS * seats + kinds, size)
    counts = jnp.zeros(size, jnp.int8).at[place].add(jnp.int8(1), mode="drop")
    return counts.reshape(NUM_SEATS, NUM_KINDS)
