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

from mjx import packed, tables

Array = jax.Array

_OFFSETS = np.array([0, 0, 0, tables.HONOUR_OFFSET], np.int32)


def suit_codes(hand: Array) -> Array:
    """Returns the table indices of the four suits of a hand uint32[..., 4]: int32[..., 4]."""
    codes = packed.code(hand)
    return codes + packed.along(_OFFSETS, codes)


def is_win(hand: Array) -> Array:
    """Tells whether a hand is sets and exactly one pair (胡牌).

    Args:
      hand: uint32[4] concealed tiles with the winning one; 17 - 3M of them make a win.

    Returns:
      bool[].
    """
    entries = _wins_table()[suit_codes(hand)]
    bare = (entries >> tables.COMPLETE) & 1
    paired = (entries >> tables.COMPLETE_WITH_PAIR) & 1
    return (jnp.sum(bare, axis=-1) == 3) & (jnp.sum(paired, axis=-1) == 1)


def waits(hand: Array) -> Array:
    """Finds the kinds that complete a hand (聽牌); none of which it already holds four.

    Args:
      hand: uint32[4], 16 - 3M concealed tiles.

    Returns:
      Kind set uint32[4], empty if the hand is not ready.
    """
    return jnp.stack(waits_of_words(tuple(hand)))


def waits_of_words(words: Sequence[Array]) -> tuple[Array, ...]:
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
    return tuple(waits)


@functools.cache
def _wins_table() -> Array:
    """Holds the table of wins on the device: uint32[NUM_CODES]."""
    with jax.ensure_compile_time_eval():
        return jnp.asarray(tables.wins())
