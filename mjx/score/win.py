"""What is scored: a won hand, how it was won, and how to read both off a finished state.

S = 4 suits, P = 4 seats.
"""

import jax
import jax.numpy as jnp
from flax import struct

from mjx import packed, tiles
from mjx.flowers import share_of
from mjx.rules import Rules
from mjx.seats import NUM_SEATS
from mjx.state import FOUR_KONGS, ROBBED_KONG, SELF_DRAW, State, declared, drawable, seat_wind

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
    replacement: Array  # int32[]    PLAIN_DRAW, AFTER_OWN_KONG, AFTER_OPEN_KONG, AFTER_FLOWER
    heavenly: Array  # bool[]     the dealer's dealt hand
    earthly: Array  # bool[]     the first own draw, before any meld
    human: Array  # bool[]     a discard before the first own draw and before any meld
    seat_wind: Array  # int32[]    0-3 for E S W N
    round_wind: Array  # int32[]    0-3 for E S W N

    # What only some tables need: None where the rules do without, and then nothing is scored.
    ready: Array | None = None  # int32[]    declared ready: 0 not, 1 at the deal, 2 at a discard
    flowers: Array | None = None  # uint32[]   exposed, bit = flower - 1
    special: Array | None = None  # int32[]    an ending of FOUR_KONGS and up, which counts alone


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
    no_melds = state.chows.any_bits() | state.sets.any_bits() == 0
    own_draws = _num_own_draws(state, seat, place, rules)
    is_first = self_draw & no_melds & (own_draws == 1)
    special = None
    if has_special_endings(rules):
        special = jnp.where(state.ending >= FOUR_KONGS, state.ending, 0)
    return Win(
        hand=jnp.stack(state.hands.row(seat)) - packed.in_suit(packed.suit_of(kind), drawn),
        chows=jnp.stack(state.chows.row(seat)),
        sets=jnp.stack(state.sets.row(seat)),
        kind=kind,
        self_draw=self_draw,
        robbed_kong=robbed_kong,
        last_tile=drawable(state, rules) == 0,
        replacement=state.replacement,
        heavenly=is_first & (place == 0),
        earthly=is_first & (place > 0),
        human=~self_draw & ~robbed_kong & no_melds & (own_draws == 0),
        seat_wind=seat_wind(state, seat, rules),
        round_wind=state.round_wind,
        ready=None if state.ready is None else declared(state.ready, seat),
        flowers=None if state.flowers is None else share_of(state.flowers, seat),
        special=special,
    )


def has_special_endings(rules: Rules) -> bool:
    """Tells whether a hand may be won that is not complete."""
    of_flowers = rules.n_flowers > 0 and (rules.baxian > 0 or rules.qiqiangyi > 0)
    return rules.sigangpai > 0 or of_flowers


def _num_own_draws(state: State, seat: Array, place: Array, rules: Rules) -> Array:
    """Counts the plain draws of a seat, the dealer's last dealt tile included: int32[].

    True while nothing is melded: turns go round strictly until then, so the tiles gone from the
    head tell it, and the first draws need no memory of their own. A replacement is no new draw.
    """
    if state.sub_draws is not None:
        return share_of(state.sub_draws, seat).astype(jnp.int32) + (place == 0)
    draws = state.head - rules.num_dealt
    return (draws + NUM_SEATS - place) >> 2  # a round of four seats
