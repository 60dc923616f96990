"""Questions about one hand, answered from the suit tables.

A hand is packed (`mjx.packed`): uint32[4]. M = open or concealed melds laid down, so that a hand
at rest holds 16 - 3M concealed tiles, and 17 - 3M with the tile just drawn. How far a hand is from
winning is told by `mjx.distance`.
"""

import functools
from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from mjx import packed, tables

Array = jax.Array

LIGU_TILES = 17  # seven pairs and a triplet; the shape is of the 16-tile game alone
_OFFSETS = np.array([0, 0, 0, tables.HONOUR_OFFSET], np.int32)


def suit_codes(hand: Array) -> Array:
    """Returns the table indices of the four suits of a hand uint32[..., 4]: int32[..., 4]."""
    codes = packed.code(hand)
    return codes + packed.along(_OFFSETS, codes)


def is_win(hand: Array, ligu: bool = False) -> Array:
    """Tells whether a hand is sets and exactly one pair (胡牌).

    Args:
      hand: uint32[4] concealed tiles with the winning one; 17 - 3M of them make a win.
      ligu: whether seven pairs and a triplet count as well; static.

    Returns:
      bool[].
    """
    entries = _wins_table()[suit_codes(hand)]
    bare = (entries >> tables.COMPLETE) & 1
    paired = (entries >> tables.COMPLETE_WITH_PAIR) & 1
    is_whole = (jnp.sum(bare, axis=-1) == 3) & (jnp.sum(paired, axis=-1) == 1)
    return is_whole | is_ligu(hand) if ligu else is_whole


def is_ligu(hand: Array) -> Array:
    """Tells whether 17 tiles are seven pairs and a triplet (嚦咕嚦咕), four of a kind two pairs.

    Args:
      hand: uint32[4] concealed tiles with the winning one.

    Returns:
      bool[]; false for any other number of tiles.
    """
    odd = jnp.sum(lax.population_count(hand & packed.MARKS), dtype=jnp.uint32)
    triplets = jnp.sum(lax.population_count(packed.exactly(hand, 3)), dtype=jnp.uint32)
    num_tiles = jnp.sum(packed.num_tiles(hand), dtype=jnp.int32)
    return (odd == 1) & (triplets == 1) & (num_tiles == LIGU_TILES)


def waits(hand: Array, ligu: bool = False) -> Array:
    """Finds the kinds that complete a hand (聽牌); none of which it already holds four.

    Args:
      hand: uint32[4], 16 - 3M concealed tiles.
      ligu: whether seven pairs and a triplet count as well; static.

    Returns:
      Kind set uint32[4], empty if the hand is not ready.
    """
    return jnp.stack(waits_of_words(tuple(hand), ligu))


def waits_of_words(words: Sequence[Array], ligu: bool = False) -> tuple[Array, ...]:
    """Finds the waits of a hand whose four words are separate; see `waits`."""
    entries = [
        _wins_table()[packed.code(w) + offset] for w, offset in zip(words, _OFFSETS, strict=True)
    ]
    bare = [(entry >> tables.COMPLETE) & 1 for entry in entries]
    paired = [(entry >> tables.COMPLETE_WITH_PAIR) & 1 for entry in entries]
    num_bare, num_paired = sum(bare), sum(paired)
    all_ranks = np.uint32((1 << packed.RANKS) - 1)
    waits = []
    for entry, is_bare, is_paired in zip(entries, bare, paired, strict=True):
        # The pair may be made here if all other suits are bare, elsewhere if one of them has it.
        pair_here = num_bare - is_bare == 3
        pair_elsewhere = (num_bare - is_bare == 2) & (num_paired - is_paired == 1)
        here = jnp.where(pair_here, (entry >> tables.WAITS_WITH_PAIR) & all_ranks, np.uint32(0))
        waits.append(
            here | jnp.where(pair_elsewhere, (entry >> tables.WAITS) & all_ranks, np.uint32(0))
        )
    if ligu:
        waits = [wait | more for wait, more in zip(waits, _ligu_waits(words), strict=True)]
    return tuple(waits)


def live_waits(waits: Array, own: Array, chows: Array, sets: Array) -> Array:
    """Drops from waits the kinds of which the own hand and melds hold all four; elementwise.

    Args:
      waits: words uint32[...] of a kind set.
      own: the concealed tiles in the same suits.
      chows, sets: what is laid down there, as `State` keeps it.

    Returns:
      Words of a kind set; all zero if the hand is not ready (聽).
    """
    kongs = (sets >> 1 | sets >> 2) & packed.MARKS
    laid = chows + (chows << packed.BITS) + (chows << 2 * packed.BITS) + 4 * kongs
    held = own + laid + 3 * (sets & packed.MARKS)
    return waits & ~packed.ranks_of(packed.at_least(held, 4))


def _ligu_waits(words: Sequence[Array]) -> list[Array]:
    """Finds the kinds that make sixteen tiles seven pairs and a triplet: uint32 of nine bits each.

    One more tile must leave a single odd count, the triplet. So all counts are even, and any pair
    may grow; or two are odd, and one of them is made even beside the other, a triplet.
    """
    odd = [word & packed.MARKS for word in words]
    triplets = [packed.exactly(word, 3) for word in words]
    num_odd = sum(lax.population_count(marks) for marks in odd)
    num_triplets = sum(lax.population_count(marks) for marks in triplets)
    is_whole = sum(packed.num_tiles(word) for word in words) == LIGU_TILES - 1
    waits = []
    for word, odds, threes in zip(words, odd, triplets, strict=True):
        beside = jnp.where(num_triplets == 2, odds, jnp.where(num_triplets == 1, odds & ~threes, 0))
        marks = jnp.where(num_odd == 0, packed.exactly(word, 2), 0)
        marks = jnp.where(num_odd == 2, beside, marks)
        waits.append(jnp.where(is_whole, packed.ranks_of(marks), 0))
    return waits


@functools.cache
def _wins_table() -> Array:
    """Holds the table of wins on the device: uint32[NUM_CODES]."""
    with jax.ensure_compile_time_eval():
        return jnp.asarray(tables.wins())
