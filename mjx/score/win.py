"""What is scored: a won hand, how it was won, and how to read both off a finished state.

S = 4 suits, P = 4 seats.
"""

import functools
import operator

import jax
import jax.numpy as jnp
from flax import struct

from mjx import packed, tiles
from mjx.rules import Rules
from mjx.seats import NUM_SEATS, SeatHands
from mjx.state import ROBBED_KONG, SELF_DRAW, State, drawable, seat_wind

Array = jax.Array


class Win(struct.PyTreeNode):
    """A won hand. Neither self-drawn nor from a robbed kong, the tile was a discard."""

    hand: Array  # uint32[S]  concealed tiles without the winning one
    chows: Array  # uint32[S]  chows laid down, counted at their lowest tile
    sets: Array  # uint32[S]  one of PONG, KONG, CONCEALED_KONG at its kind
    kind: Array  # int32[]    the winning tile
    self_draw: Array  # bool[]
    robbed_kong: Array  # bool[]
    last_tile: Array  # bool[]     nothing drawable was left
    replacement: Array  # int32[]    PLAIN_DRAW, AFTER_OWN_KONG or AFTER_OPEN_KONG
    heavenly: Array  # bool[]     the dealer's dealt hand
    earthly: Array  # bool[]     the first own draw, before any meld
    human: Array  # bool[]     a discard before the first own draw and before any meld
    seat_wind: Array  # int32[]    0-3 for E S W N
    round_wind: Array  # int32[]    0-3 for E S W N


def win_of(state: State, rules: Rules) -> Win:
    """Reads the won hand off a finished state.

    Args:
      state: a state that ended in a win; of any other the result means nothing, but is harmless.
      rules: the options.

    Returns:
      The win of `state.winner`.
    """
    winner = jnp.clip(state.winner, 0, NUM_SEATS - 1)
    self_draw = state.ending == SELF_DRAW
    kind = jnp.where(self_draw, state.drawn, state.pending)
    return win_if(state, winner, kind, self_draw, state.ending == ROBBED_KONG, rules)


def win_if(
    state: State,
    seat: Array,
    kind: Array,
    self_draw: bool | Array,
    robbed_kong: bool | Array,
    rules: Rules,
) -> Win:
    """Describes a win that is made, or would be.

    While nothing is melded turns go round strictly, so the number of draws says whose first one
    is still to come, and the first draws need no memory of their own.

    Args:
      state: the table when the winning tile is drawn, discarded or added to a pong.
      seat: int32[] who wins.
      kind: int32[] with which tile.
      self_draw, robbed_kong: bool[] how; neither, by a discard.
      rules: the options.

    Returns:
      The win; it means nothing if the hand is not complete, but is harmless.
    """
    kind = jnp.clip(kind, 0, tiles.NUM_KINDS - 1)
    self_draw, robbed_kong = jnp.asarray(self_draw), jnp.asarray(robbed_kong)
    drawn = jnp.where(self_draw, packed.tile(kind), jnp.uint32(0))
    place = (seat - state.dealer) % NUM_SEATS
    no_melds = _any_tiles(state.chows) | _any_tiles(state.sets) == 0
    draws = state.head - rules.num_dealt
    return Win(
        hand=jnp.stack(state.hands.row(seat)) - packed.in_suit(packed.suit_of(kind), drawn),
        chows=jnp.stack(state.chows.row(seat)),
        sets=jnp.stack(state.sets.row(seat)),
        kind=kind,
        self_draw=self_draw,
        robbed_kong=robbed_kong,
        last_tile=drawable(state, rules) == 0,
        replacement=state.replacement,
        heavenly=self_draw & no_melds & (place == 0) & (draws == 0),
        earthly=self_draw & no_melds & (place > 0) & (draws == place),
        human=~self_draw & ~robbed_kong & no_melds & (place > draws),
        seat_wind=seat_wind(state, seat, rules),
        round_wind=state.round_wind,
    )


def _any_tiles(hands: SeatHands) -> Array:
    """Joins the bits of all words: uint32[], zero if no seat has any."""
    return functools.reduce(operator.or_, (word for row in hands.rows for word in row))
