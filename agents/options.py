"""What each action leaves in the hand: the options of a decision, as hands. T = 34, S = 4 suits.

Legality is the mask's; the hands of illegal options hold nothing of meaning and are not read.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from mjx import actions, packed
from mjx import state as st
from mjx.observe import Observation
from mjx.tables import MAX_SETS

Array = jax.Array

CLAIMS = (actions.CHOW_LOW, actions.CHOW_MIDDLE, actions.CHOW_HIGH, actions.PONG)


class Own(NamedTuple):
    """A player's tiles."""

    hand: Array  # uint32[S]  concealed
    chows: Array  # uint32[S]  counted at their lowest tile
    sets: Array  # uint32[S]  state.PONG, KONG, CONCEALED_KONG at the kind
    num_melds: Array  # int32[]    sets of five that need not be made any more


def own(observation: Observation) -> Own:
    """Packs the tiles of the player who observes."""
    pongs, kongs, concealed = (
        field[0].astype(jnp.uint32) * np.uint32(form)
        for field, form in (
            (observation.pongs, st.PONG),
            (observation.kongs, st.KONG),
            (observation.concealed_kongs, st.CONCEALED_KONG),
        )
    )
    chows = packed.from_counts(observation.chows[0])
    sets = packed.from_counts(pongs + kongs + concealed)
    return Own(packed.from_counts(observation.hand), chows, sets, sets_made(observation)[0])


def sets_made(observation: Observation) -> Array:
    """Counts for each seat the sets of five that its hidden tiles need not make: int32[P].

    These are its melds; in the game of 13 tiles, which wants four sets, one more.
    """
    return MAX_SETS - observation.num_concealed // 3


def after_claims(tiles: Own, pending: Array) -> Own:
    """Lays down each of `CLAIMS` with a discard, int32[]: leading axis 4, each still to discard."""
    kind = jnp.maximum(pending, 0)
    unit = _one(kind)
    lowest = [_one(kind - back) for back in range(3)]  # the chow's lowest tile; rank unchecked
    runs = [low + (low << 3) + (low << 6) for low in lowest]
    hands = [tiles.hand - run + unit for run in runs] + [tiles.hand - 2 * unit]
    chows = [tiles.chows + low for low in lowest] + [tiles.chows]
    sets = [tiles.sets] * 3 + [tiles.sets + np.uint32(st.PONG) * unit]
    return Own(
        jnp.stack(hands), jnp.stack(chows), jnp.stack(sets), jnp.tile(tiles.num_melds + 1, 4)
    )


def after_open_kong(tiles: Own, pending: Array) -> Own:
    """Lays down an open kong with a discard: at rest, a replacement to be drawn."""
    unit = _one(jnp.maximum(pending, 0))
    sets = tiles.sets + np.uint32(st.KONG) * unit
    return Own(tiles.hand - 3 * unit, tiles.chows, sets, tiles.num_melds + 1)


def after_concealed_kong(tiles: Own, kind: Array) -> Own:
    """Lays down a concealed kong of a kind, int32[]: at rest, a replacement to be drawn."""
    unit = _one(kind)
    sets = tiles.sets + np.uint32(st.CONCEALED_KONG) * unit
    return Own(tiles.hand - 4 * unit, tiles.chows, sets, tiles.num_melds + 1)


def after_added_kong(tiles: Own, kind: Array) -> Own:
    """Adds a kind, int32[], to its pong: at rest, a replacement to be drawn."""
    unit = _one(kind)
    sets = tiles.sets + np.uint32(st.KONG - st.PONG) * unit
    return Own(tiles.hand - unit, tiles.chows, sets, tiles.num_melds)


def keep(wanted: Array, tiles: Own) -> Own:
    """Empties a hand that nobody wants, bool[], which may hold what no table knows: as `tiles`."""
    return jax.tree.map(lambda x: jnp.where(wanted, x, jnp.zeros_like(x)), tiles)


def _one(kind: Array) -> Array:
    """Makes a hand of one tile: uint32[S]."""
    return packed.in_suit(packed.suit_of(kind), packed.tile(kind))
