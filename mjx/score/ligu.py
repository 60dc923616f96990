"""Seven pairs and a triplet (嚦咕嚦咕): complete, and what completes it.

A fourth tile makes a second pair, so among 17 tiles exactly one kind is held an odd number of
times, three. S = 4 suits.
"""

import jax
import jax.numpy as jnp
import numpy as np

from mjx import packed

Array = jax.Array

_NUM_TILES = 17


def is_ligu(tiles: Array) -> Array:
    """Tells whether tiles are seven pairs and a triplet.

    Args:
      tiles: uint32[S] concealed tiles with the winning one; with melds there are too few.

    Returns:
      bool[].
    """
    odd = tiles & packed.MARKS
    three = odd & (tiles >> 1)
    return (_num(tiles) == _NUM_TILES) & (_num(odd) == 1) & (_num(three) == 1)


def waits(hand: Array) -> Array:
    """Finds the kinds that complete seven pairs and a triplet.

    Args:
      hand: uint32[S] concealed tiles, the winning one not yet among them.

    Returns:
      Kind set uint32[S]; none of which the hand holds four.
    """
    odd = hand & packed.MARKS
    three = odd & (hand >> 1)
    two = ~odd & (hand >> 1) & packed.MARKS
    num_odd, num_three = _num(odd), _num(three)
    # Eight pairs: any of two becomes the triplet. A triplet and a single: the single. Two
    # triplets: either becomes two pairs.
    marks = jnp.where(num_odd == 0, two, np.uint32(0))
    marks = jnp.where((num_odd == 2) & (num_three == 1), odd & ~three, marks)
    marks = jnp.where((num_odd == 2) & (num_three == 2), three, marks)
    return packed.ranks_of(jnp.where(_num(hand) == _NUM_TILES - 1, marks, np.uint32(0)))


def _num(words: Array) -> Array:
    """Counts the tiles or marks of words uint32[S]: int32[]."""
    return jnp.sum(packed.num_tiles(words), dtype=jnp.int32)
