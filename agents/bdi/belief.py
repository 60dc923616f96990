"""Belief (section 2.2): the memory of the table, and the state of each suit.

S = 4 suits of the paper (characters, bamboo, dots, honours).
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from agents.bdi import tile_bytes
from agents.bdi.quintuple import Quintuple, Rearrange, quintuple
from mjx import packed
from mjx.observe import Observation
from mjx.seats import NUM_SEATS
from mjx.stage import stage

Array = jax.Array


class Memory(NamedTuple):
    """What the robot remembers: own tiles, discards, and the uncertain tiles."""

    tiles: Array  # uint32[S]  own concealed tiles
    unseen: Array  # int32[S,9]  copies of each rank in the wall or in others' hands
    obtainable: Array  # uint32[S]  marks of the ranks of which there are some
    on_table: Array  # int32[S,9]  discards that lie on the table
    draws_left: Array  # int32[]  of the own draws, about


class Belief(NamedTuple):
    """Memory and state set; the rule base is the game itself, the strategies are functions."""

    memory: Memory
    states: Quintuple  # leading axis S


def perceive(observation: Observation) -> Memory:
    """Remembers what one seat may see (section 2.2, the perceptor)."""
    unseen = tile_bytes.by_suit(observation.unseen.astype(jnp.int32))
    lying = jnp.sum(observation.discards, axis=0, dtype=jnp.int32)
    return Memory(
        tiles=packed.from_counts(observation.hand)[tile_bytes.GAME_SUIT],
        unseen=unseen,
        obtainable=packed.from_counts(observation.unseen > 0)[tile_bytes.GAME_SUIT],
        on_table=tile_bytes.by_suit(lying),
        draws_left=observation.drawable // NUM_SEATS,
    )


def update(memory: Memory, rearrange: Rearrange) -> Belief:
    """Forms the state of every suit (section 3.2, the updater)."""

    def states(tiles: Array, obtainable: Array) -> Quintuple:
        return quintuple(tiles, obtainable, jnp.asarray(tile_bytes.IS_NUMBER), rearrange)

    return Belief(memory, stage(states, memory.tiles, memory.obtainable))


def danger(memory: Memory) -> Array:
    """Counts the pairs of unseen tiles that each rank would complete to a set: int32[S, 9].

    Halved for each copy that lies on the table, which others have let pass. It is what a robot
    without a goal goes by; the paper has no such part.
    """
    unseen = memory.unseen
    is_number = tile_bytes.IS_NUMBER[:, None].astype(np.int32)
    runs = jnp.pad(unseen * jnp.broadcast_to(is_number, unseen.shape), ((0, 0), (2, 2)))
    below, lower, higher, above = (runs[:, k : k + packed.RANKS] for k in (0, 1, 3, 4))
    ways = below * lower + lower * higher + higher * above + unseen * (unseen - 1) // 2
    return (8 * ways) >> memory.on_table
